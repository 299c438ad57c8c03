#include <fmt/format.h>
#include <limits>

#include "mpi_operation.hpp"

namespace det::transport {
namespace {

class MpiTransport final : public Transport {
public:
    MpiTransport(std::shared_ptr<MpiState> state, Rank rank, int size)
        : Transport(rank, size), state_(std::move(state)) {}

    std::string_view name() const override { return "MPI"; }
    void abandon() noexcept override { state_->session.abandon(); }

private:
    template <class Kind, class Buffer>
    Result<std::unique_ptr<Operation>> begin(Rank peer, Tag tag, Buffer bytes) {
        if (!state_->session.is_open()) {
            return Error{codes::misuse, fmt::format("rank {} has left the others", rank().value)};
        }
        auto operation = std::make_unique<Kind>(
            state_, MpiRoute{rank().value, peer.value, static_cast<int>(tag.value)}, bytes);
        DET_TRY(operation->start());
        return Result<std::unique_ptr<Operation>>(std::move(operation));
    }
    Result<std::unique_ptr<Operation>> begin_send(Rank to, Tag tag, Bytes bytes) override {
        return begin<MpiSend>(to, tag, bytes);
    }
    Result<std::unique_ptr<Operation>> begin_receive(Rank from, Tag tag, MutableBytes into) override {
        return begin<MpiReceive>(from, tag, into);
    }

    std::shared_ptr<MpiState> state_;
};

}  // namespace

Result<std::unique_ptr<Transport>> open_mpi_transport(MpiOptions options) {
    constexpr std::size_t countable = std::numeric_limits<int>::max();
    if (options.piece_limit_bytes == 0 || options.piece_limit_bytes > countable) {
        return Error{codes::misuse, fmt::format("pieces of {} bytes: MPI counts from 1 to {}",
                                                options.piece_limit_bytes, countable)};
    }
    DET_TRY_ASSIGN(auto session, MpiSession::open(options.threads, options.communicator));
    DET_TRY_ASSIGN(int const rank, session.rank());
    DET_TRY_ASSIGN(int const size, session.size());
    DET_TRY_ASSIGN(int const local_size, session.local_size());
    auto state = std::make_shared<MpiState>(
        MpiState{std::move(session), cores_for(local_size), options.piece_limit_bytes});
    return Result<std::unique_ptr<Transport>>(
        std::make_unique<MpiTransport>(std::move(state), Rank{rank}, size));
}

}  // namespace det::transport
