// The Transport over UCX, and the entry point of det_ucx.so.
#include <fmt/format.h>
#include <utility>

#include "messages.hpp"
#include "module_table.hpp"

namespace det::transport::ucx {
namespace {

class UcxTransport final : public Transport {
public:
    explicit UcxTransport(std::shared_ptr<Worker> worker)
        : Transport(worker->rank(), worker->size()), worker_(std::move(worker)) {}

    std::string_view name() const override { return "UCX"; }
    void abandon() noexcept override { worker_->abandon(); }
    Status flush() override { return worker_->flush(); }
    Status check_ranks() const override { return worker_->check_ranks(); }

private:
    template <class Kind, class Buffer>
    Result<std::unique_ptr<Operation>> begin(Rank peer, Tag tag, Buffer bytes) {
        if (!worker_->is_open()) {
            return Error{codes::misuse, fmt::format("rank {} has left the others", rank().value)};
        }
        auto operation = std::make_unique<Kind>(worker_, Route{peer, tag}, bytes);
        DET_TRY(operation->start());
        return Result<std::unique_ptr<Operation>>(std::move(operation));
    }
    Result<std::unique_ptr<Operation>> begin_send(Rank to, Tag tag, Bytes bytes) override {
        return begin<SendMessage>(to, tag, bytes);
    }
    Result<std::unique_ptr<Operation>> begin_receive(Rank from, Tag tag, MutableBytes into) override {
        return begin<ReceiveMessage>(from, tag, into);
    }

    std::shared_ptr<Worker> worker_;
};

Result<std::unique_ptr<Transport>> make_transport(std::unique_ptr<Bootstrap> bootstrap, Options options) {
    DET_TRY_ASSIGN(auto worker, Worker::open(std::move(bootstrap), std::move(options)));
    return Result<std::unique_ptr<Transport>>(std::make_unique<UcxTransport>(std::move(worker)));
}

constexpr Table table{{transport_abi}, make_transport};

}  // namespace
}  // namespace det::transport::ucx

extern "C" __attribute__((visibility("default"))) det::transport::ModuleTable const* det_ucx_module() {
    return &det::transport::ucx::table;
}
