// The Transport over MPI, and the entry point of det_mpi.so.
#include <fmt/format.h>
#include <limits>

#include "messages.hpp"

namespace det::transport::mpi {
namespace {

class MpiTransport final : public Transport {
public:
    MpiTransport(std::shared_ptr<SharedState> state, Rank rank, int size)
        : Transport(rank, size), state_(std::move(state)) {}

    std::string_view name() const override { return "MPI"; }
    void abandon() noexcept override { state_->communicator.abandon(); }

private:
    template <class Kind, class Buffer>
    Result<std::unique_ptr<Operation>> begin(Rank peer, Tag tag, Buffer bytes) {
        if (!state_->communicator.is_open()) {
            return Error{codes::misuse, fmt::format("rank {} has left the others", rank().value)};
        }
        auto operation = std::make_unique<Kind>(
            state_, Route{rank().value, peer.value, static_cast<int>(tag.value)}, bytes);
        DET_TRY(operation->start());
        return Result<std::unique_ptr<Operation>>(std::move(operation));
    }
    Result<std::unique_ptr<Operation>> begin_send(Rank to, Tag tag, Bytes bytes) override {
        return begin<SendMessage>(to, tag, bytes);
    }
    Result<std::unique_ptr<Operation>> begin_receive(Rank from, Tag tag, MutableBytes into) override {
        return begin<ReceiveMessage>(from, tag, into);
    }

    std::shared_ptr<SharedState> state_;
};

Result<std::unique_ptr<Transport>> make_transport(Options options) {
    constexpr std::size_t countable = std::numeric_limits<int>::max();
    if (options.piece_limit_bytes == 0 || options.piece_limit_bytes > countable) {
        return Error{codes::misuse, fmt::format("pieces of {} bytes: MPI counts from 1 to {}",
                                                options.piece_limit_bytes, countable)};
    }
    DET_TRY_ASSIGN(auto communicator, Communicator::open(options.threads, options.communicator));
    DET_TRY_ASSIGN(int const rank, communicator.rank());
    DET_TRY_ASSIGN(int const size, communicator.size());
    DET_TRY_ASSIGN(int const local_size, communicator.local_size());
    auto state = std::make_shared<SharedState>(
        SharedState{std::move(communicator), liveness::cores_for(local_size), options.piece_limit_bytes});
    return Result<std::unique_ptr<Transport>>(
        std::make_unique<MpiTransport>(std::move(state), Rank{rank}, size));
}

constexpr Table table{{transport_abi}, make_transport, make_collectives};

}  // namespace
}  // namespace det::transport::mpi

extern "C" __attribute__((visibility("default"))) det::transport::ModuleTable const* det_mpi_module() {
    return &det::transport::mpi::table;
}
