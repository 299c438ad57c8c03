#include "tcp_operation.hpp"

#include <cstring>

namespace det::transport {

Result<bool> TcpSend::test() {
    if (departure_->is_over()) return true;
    session_->progress();
    if (departure_->is_over()) return true;
    DET_TRY(session_->check_alive(to_));
    return false;
}

Result<std::size_t> TcpSend::wait() {
    DET_TRY(session_->wait(to_, [this] { return departure_->is_over(); }));
    return departure_->bytes.size();
}

Result<bool> TcpReceive::test() {
    if (arrival_->is_over()) return true;
    session_->progress();
    if (arrival_->is_over()) return true;
    DET_TRY(session_->check_alive(from_));
    return false;
}

Result<std::size_t> TcpReceive::wait() {
    DET_TRY(session_->wait(from_, [this] { return arrival_->is_over(); }));
    auto const size = static_cast<std::size_t>(arrival_->size);
    // It came before it was asked for.
    if (!arrival_->own.empty() && size <= into_.size()) std::memcpy(into_.data(), arrival_->own.data(), size);
    return size;
}

}  // namespace det::transport
