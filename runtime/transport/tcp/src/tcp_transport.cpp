#include <cstring>
#include <fmt/format.h>

#include "connections.hpp"

namespace det::transport::tcp {
namespace {

/// Returns whether the request is complete. Advances the connections first if it is not.
template <class Request>
Result<bool> test_request(Connections& connections, Rank peer, Request const& request) {
    if (request.is_over()) return true;
    connections.progress();
    if (request.is_over()) return true;
    DET_TRY(connections.check_alive(peer));
    return false;
}

class SendOperation final : public Operation {
public:
    SendOperation(std::shared_ptr<Connections> connections, Rank to, std::shared_ptr<SendRequest> request)
        : connections_(std::move(connections)), to_(to), request_(std::move(request)) {}
    ~SendOperation() override { connections_->cancel(to_, *request_); }

    Result<bool> test() override;
    Result<std::size_t> wait() override;

private:
    std::shared_ptr<Connections> connections_;
    Rank to_;
    std::shared_ptr<SendRequest> request_;
};

class ReceiveOperation final : public Operation {
public:
    ReceiveOperation(std::shared_ptr<Connections> connections, Rank from, Tag tag, MutableBytes into)
        : connections_(std::move(connections)),
          from_(from),
          tag_(tag),
          into_(into),
          request_(connections_->receive(from, tag, into)) {}
    ~ReceiveOperation() override { connections_->cancel(from_, tag_, request_); }

    Result<bool> test() override;
    Result<std::size_t> wait() override;

private:
    std::shared_ptr<Connections> connections_;
    Rank from_;
    Tag tag_;
    MutableBytes into_;
    std::shared_ptr<RecvRequest> request_;
};

Result<bool> SendOperation::test() { return test_request(*connections_, to_, *request_); }

Result<std::size_t> SendOperation::wait() {
    DET_TRY(connections_->wait(to_, [this] { return request_->is_over(); }));
    return request_->bytes.size();
}

Result<bool> ReceiveOperation::test() { return test_request(*connections_, from_, *request_); }

Result<std::size_t> ReceiveOperation::wait() {
    DET_TRY(connections_->wait(from_, [this] { return request_->is_over(); }));
    auto const size = static_cast<std::size_t>(request_->size);
    // The message arrived before its receive was posted.
    if (!request_->own.empty() && size <= into_.size()) std::memcpy(into_.data(), request_->own.data(), size);
    return size;
}

class TcpTransport final : public Transport {
public:
    explicit TcpTransport(std::shared_ptr<Connections> connections)
        : Transport(connections->rank(), connections->size()), connections_(std::move(connections)) {}

    std::string_view name() const override { return "sockets"; }
    void abandon() noexcept override { connections_->abandon(); }
    Status flush() override { return connections_->flush(); }
    Status check_ranks() const override { return connections_->check_ranks(); }

private:
    Status check_not_abandoned() const {
        if (connections_->is_open()) return Ok{};
        return Error{codes::misuse, fmt::format("rank {} has left the others", rank().value)};
    }
    Result<std::unique_ptr<Operation>> begin_send(Rank to, Tag tag, Bytes bytes) override {
        DET_TRY(check_not_abandoned());
        DET_TRY_ASSIGN(auto request, connections_->send(to, tag, bytes));
        return Result<std::unique_ptr<Operation>>(
            std::make_unique<SendOperation>(connections_, to, std::move(request)));
    }
    Result<std::unique_ptr<Operation>> begin_receive(Rank from, Tag tag, MutableBytes into) override {
        DET_TRY(check_not_abandoned());
        return Result<std::unique_ptr<Operation>>(
            std::make_unique<ReceiveOperation>(connections_, from, tag, into));
    }

    std::shared_ptr<Connections> connections_;
};

}  // namespace

Result<std::unique_ptr<Transport>> open_transport(std::unique_ptr<Bootstrap> bootstrap, Options options) {
    DET_TRY_ASSIGN(auto connections, Connections::open(std::move(bootstrap), std::move(options)));
    return Result<std::unique_ptr<Transport>>(std::make_unique<TcpTransport>(std::move(connections)));
}

}  // namespace det::transport::tcp
