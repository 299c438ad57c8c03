#include "messages.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace det::transport::ucx {
namespace {

constexpr std::chrono::seconds cancel_timeout{2};
constexpr ucp_tag_t whole_tag = ~ucp_tag_t{0};

/// Encodes the sending rank and the tag.
ucp_tag_t ucp_tag(Rank from, Tag tag) {
    return (static_cast<ucp_tag_t>(static_cast<std::uint32_t>(from.value)) << 32) | tag.value;
}

ucp_request_param_t no_params() { return {}; }

/// Blocks until `operation` is complete. Meanwhile advances all sends, and all receives that have not found
/// their message.
Status poll(Worker& worker, Operation& operation, Rank peer) {
    liveness::Backoff backoff(worker.cores());
    auto wait = worker.begin_wait(peer);
    for (;;) {
        DET_TRY_ASSIGN(bool const is_over, operation.test());
        if (is_over) return Ok{};
        // A peer may send the awaited message only after this rank has received another one.
        for (auto i = worker.receives.begin(); i != worker.receives.end();) {
            auto* const first = i->second.front();
            ++i;  // before find(), which may remove the receive and its queue
            DET_TRY(first->find());
        }
        DET_TRY(wait.check());
        if (!worker.progress()) backoff.pause();
    }
}

/// Progresses UCX and returns the status of the request. Frees a complete request and sets it to nullptr. A
/// nullptr is a complete request.
ucs_status_t advance(Worker& worker, ucs_status_ptr_t& request) {
    if (request == nullptr) return UCS_OK;
    worker.progress();
    auto const status = ucp_request_check_status(request);
    if (status != UCS_INPROGRESS) ucp_request_free(std::exchange(request, nullptr));
    return status;
}

/// Returns whether the request is complete. If it is not, and the peer is lost, the loss is the error,
/// whatever status UCX reports for the request.
template <class MakeError>
Result<bool> is_complete(Worker& worker, Rank peer, ucs_status_ptr_t& request, MakeError const& cannot) {
    auto const status = advance(worker, request);
    if (status == UCS_OK) return true;
    DET_TRY(worker.check_alive(peer));
    if (status != UCS_INPROGRESS) return cannot(status);
    return false;
}

}  // namespace

SendMessage::~SendMessage() {
    if (request_ == nullptr) return;
    if (worker_->is_open()) ucp_request_cancel(worker_->handle(), request_);
    auto const until = std::chrono::steady_clock::now() + cancel_timeout;
    auto has_ended = [&] { return advance(*worker_, request_) != UCS_INPROGRESS; };
    while (std::chrono::steady_clock::now() < until) {
        if (has_ended()) return;
    }
    worker_->abandon_peer(
        route_.peer);  // UCX can't cancel a large send: the peer may read its buffer at any time
    if (!has_ended()) ucp_request_free(request_);
}

Error SendMessage::cannot(ucs_status_t status) const {
    return ucx_error(fmt::format("send {} bytes from rank {} to rank {} (tag {})", bytes_.size(),
                                 worker_->rank().value, route_.peer.value, route_.tag.value),
                     status);
}

Status SendMessage::start() {
    DET_TRY_ASSIGN(auto* const endpoint, worker_->endpoint(route_.peer));
    worker_->unflushed.insert(route_.peer);
    auto const params = no_params();
    request_ = ucp_tag_send_nbx(endpoint, bytes_.data(), bytes_.size(), ucp_tag(worker_->rank(), route_.tag),
                                &params);
    if (UCS_PTR_IS_ERR(request_)) return cannot(UCS_PTR_STATUS(std::exchange(request_, nullptr)));
    return Ok{};
}

Result<bool> SendMessage::test() {
    return is_complete(*worker_, route_.peer, request_, [&](auto status) { return cannot(status); });
}

Result<std::size_t> SendMessage::wait() {
    DET_TRY(poll(*worker_, *this, route_.peer));
    return bytes_.size();
}

ReceiveMessage::~ReceiveMessage() {
    leave_queue();
    if (request_ == nullptr) return;
    ucp_request_cancel(worker_->handle(), request_);
    worker_->wait_for(std::exchange(request_, nullptr), cancel_timeout);
}

Error ReceiveMessage::cannot(ucs_status_t status) const {
    return ucx_error(fmt::format("receive at rank {} from rank {} (tag {})", worker_->rank().value,
                                 route_.peer.value, route_.tag.value),
                     status);
}

Status ReceiveMessage::start() {
    worker_->receives[match_key()].push_back(this);
    // Without an endpoint, two ranks that only receive from each other would not learn that the other is
    // lost.
    DET_TRY(worker_->endpoint(route_.peer));
    return Ok{};
}

void ReceiveMessage::leave_queue() {
    auto const waiting = worker_->receives.find(match_key());
    if (waiting == worker_->receives.end()) return;
    std::erase(waiting->second, this);
    if (waiting->second.empty()) worker_->receives.erase(waiting);
}

Status ReceiveMessage::find() {
    ucp_tag_recv_info_t info{};
    auto* const message =
        ucp_tag_probe_nb(worker_->handle(), ucp_tag(route_.peer, route_.tag), whole_tag, 1, &info);
    if (message == nullptr) return Ok{};
    leave_queue();
    size_ = info.length;
    auto target = into_;
    if (info.length > into_.size()) {
        dropped_.resize(info.length);
        target = dropped_;
    }
    auto const params = no_params();
    request_ = ucp_tag_msg_recv_nbx(worker_->handle(), target.data(), info.length, message, &params);
    if (UCS_PTR_IS_ERR(request_)) return cannot(UCS_PTR_STATUS(std::exchange(request_, nullptr)));
    return Ok{};
}

Result<bool> ReceiveMessage::test() {
    if (!size_) {
        worker_->progress();
        while (!size_) {
            auto* const first = worker_->receives.at(match_key()).front();
            DET_TRY(first->find());
            if (!first->size_) break;
        }
    }
    if (!size_) {
        DET_TRY(worker_->check_alive(route_.peer));
        return false;
    }
    return is_complete(*worker_, route_.peer, request_, [&](auto status) { return cannot(status); });
}

Result<std::size_t> ReceiveMessage::wait() {
    DET_TRY(poll(*worker_, *this, route_.peer));
    return *size_;
}

}  // namespace det::transport::ucx
