#include <fmt/format.h>

#include "tcp_operation.hpp"

namespace det::transport {
namespace {

class TcpTransport final : public Transport {
public:
    explicit TcpTransport(std::shared_ptr<TcpSession> session)
        : Transport(session->rank(), session->size()), session_(std::move(session)) {}

    std::string_view name() const override { return "sockets"; }
    void abandon() noexcept override { session_->abandon(); }
    Status settle() override { return session_->settle(); }
    Status check_ranks() const override { return session_->check_ranks(); }

private:
    Status check_present() const {
        if (session_->is_open()) return Ok{};
        return Error{codes::misuse, fmt::format("rank {} has left the others", rank().value)};
    }
    Result<std::unique_ptr<Operation>> begin_send(Rank to, Tag tag, Bytes bytes) override {
        DET_TRY(check_present());
        DET_TRY_ASSIGN(auto departure, session_->send(to, tag, bytes));
        return Result<std::unique_ptr<Operation>>(
            std::make_unique<TcpSend>(session_, to, std::move(departure)));
    }
    Result<std::unique_ptr<Operation>> begin_receive(Rank from, Tag tag, MutableBytes into) override {
        DET_TRY(check_present());
        return Result<std::unique_ptr<Operation>>(std::make_unique<TcpReceive>(session_, from, tag, into));
    }

    std::shared_ptr<TcpSession> session_;
};

}  // namespace

Result<std::unique_ptr<Transport>> open_tcp_transport(std::unique_ptr<Bootstrap> bootstrap,
                                                      TcpOptions options) {
    DET_TRY_ASSIGN(auto session, TcpSession::open(std::move(bootstrap), std::move(options)));
    return Result<std::unique_ptr<Transport>>(std::make_unique<TcpTransport>(std::move(session)));
}

}  // namespace det::transport
