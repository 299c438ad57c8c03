#include <fmt/format.h>
#include <utility>

#include "ucx_operation.hpp"

namespace det::transport {
namespace {

class UcxTransport final : public Transport {
public:
    explicit UcxTransport(std::shared_ptr<UcxSession> session)
        : Transport(session->rank(), session->size()), session_(std::move(session)) {}

    std::string_view name() const override { return "UCX"; }
    void abandon() noexcept override { session_->abandon(); }
    Status settle() override { return session_->settle(); }
    Status check_ranks() const override { return session_->check_ranks(); }

private:
    template <class Kind, class Buffer>
    Result<std::unique_ptr<Operation>> begin(Rank peer, Tag tag, Buffer bytes) {
        if (!session_->is_open()) {
            return Error{codes::misuse, fmt::format("rank {} has left the others", rank().value)};
        }
        auto operation = std::make_unique<Kind>(session_, UcxRoute{peer, tag}, bytes);
        DET_TRY(operation->start());
        return Result<std::unique_ptr<Operation>>(std::move(operation));
    }
    Result<std::unique_ptr<Operation>> begin_send(Rank to, Tag tag, Bytes bytes) override {
        return begin<UcxSend>(to, tag, bytes);
    }
    Result<std::unique_ptr<Operation>> begin_receive(Rank from, Tag tag, MutableBytes into) override {
        return begin<UcxReceive>(from, tag, into);
    }

    std::shared_ptr<UcxSession> session_;
};

}  // namespace

Result<std::unique_ptr<Transport>> open_ucx_transport(std::unique_ptr<Bootstrap> bootstrap,
                                                      UcxOptions options) {
    DET_TRY_ASSIGN(auto session, UcxSession::open(std::move(bootstrap), std::move(options)));
    return Result<std::unique_ptr<Transport>>(std::make_unique<UcxTransport>(std::move(session)));
}

}  // namespace det::transport
