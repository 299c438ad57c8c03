#pragma once
#include "tcp_session.hpp"

namespace det::transport {

class TcpSend final : public Operation {
public:
    TcpSend(std::shared_ptr<TcpSession> session, Rank to, std::shared_ptr<Departure> departure)
        : session_(std::move(session)), to_(to), departure_(std::move(departure)) {}
    ~TcpSend() override { session_->take_back(to_, *departure_); }

    Result<bool> test() override;
    Result<std::size_t> wait() override;

private:
    std::shared_ptr<TcpSession> session_;
    Rank to_;
    std::shared_ptr<Departure> departure_;
};

class TcpReceive final : public Operation {
public:
    TcpReceive(std::shared_ptr<TcpSession> session, Rank from, Tag tag, MutableBytes into)
        : session_(std::move(session)),
          from_(from),
          tag_(tag),
          into_(into),
          arrival_(session_->receive(from, tag, into)) {}
    ~TcpReceive() override { session_->take_back(from_, tag_, arrival_); }

    Result<bool> test() override;
    Result<std::size_t> wait() override;

private:
    std::shared_ptr<TcpSession> session_;
    Rank from_;
    Tag tag_;
    MutableBytes into_;
    std::shared_ptr<Arrival> arrival_;
};

}  // namespace det::transport
