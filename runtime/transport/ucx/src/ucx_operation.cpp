#include "ucx_operation.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace det::transport {
namespace {

constexpr std::chrono::seconds letting_go_time{2};
constexpr ucp_tag_t whole_tag = ~ucp_tag_t{0};

/// Who sent it, and the conversation.
ucp_tag_t ucp_tag(Rank from, Tag tag) {
    return (static_cast<ucp_tag_t>(static_cast<std::uint32_t>(from.value)) << 32) | tag.value;
}

ucp_request_param_t no_params() { return {}; }

/// Until `operation` is over, while everything else that is under way goes on.
Status poll(UcxSession& session, Operation& operation, Rank peer) {
    Backoff backoff(session.cores());
    auto patience = session.begin_wait(peer);
    for (;;) {
        DET_TRY_ASSIGN(bool const is_over, operation.test());
        if (is_over) return Ok{};
        // A peer may serve the one we wait for only after another.
        for (auto i = session.receives.begin(); i != session.receives.end();) {
            auto* const first = i->second.front();
            ++i;  // the first may leave, and its lane with it
            DET_TRY(first->find());
        }
        DET_TRY(patience.check());
        if (!session.progress()) backoff.pause();
    }
}

/// nullptr once it is over; its status tells how.
ucs_status_t advance(UcxSession& session, ucs_status_ptr_t& request) {
    if (request == nullptr) return UCS_OK;
    session.progress();
    auto const status = ucp_request_check_status(request);
    if (status != UCS_INPROGRESS) ucp_request_free(std::exchange(request, nullptr));
    return status;
}

/// Whether it is over. A peer that was lost is what went wrong, before anything that UCX says of the request.
template <class Cannot>
Result<bool> move_on(UcxSession& session, Rank peer, ucs_status_ptr_t& request, Cannot const& cannot) {
    auto const status = advance(session, request);
    if (status == UCS_OK) return true;
    DET_TRY(session.check_alive(peer));
    if (status != UCS_INPROGRESS) return cannot(status);
    return false;
}

}  // namespace

UcxSend::~UcxSend() {
    if (request_ == nullptr) return;
    if (session_->is_open()) ucp_request_cancel(session_->worker(), request_);
    auto const until = std::chrono::steady_clock::now() + letting_go_time;
    auto has_ended = [&] { return advance(*session_, request_) != UCS_INPROGRESS; };
    while (std::chrono::steady_clock::now() < until) {
        if (has_ended()) return;
    }
    session_->cut_off(route_.peer);  // a large message can't be taken back: its peer may fetch it at any time
    if (!has_ended()) ucp_request_free(request_);
}

Error UcxSend::cannot(ucs_status_t status) const {
    return ucx_error(fmt::format("send {} bytes from rank {} to rank {} (tag {})", bytes_.size(),
                                 session_->rank().value, route_.peer.value, route_.tag.value),
                     status);
}

Status UcxSend::start() {
    DET_TRY_ASSIGN(auto* const endpoint, session_->endpoint(route_.peer));
    session_->unsettled.insert(route_.peer);
    auto const params = no_params();
    request_ = ucp_tag_send_nbx(endpoint, bytes_.data(), bytes_.size(), ucp_tag(session_->rank(), route_.tag),
                                &params);
    if (UCS_PTR_IS_ERR(request_)) return cannot(UCS_PTR_STATUS(std::exchange(request_, nullptr)));
    return Ok{};
}

Result<bool> UcxSend::test() {
    return move_on(*session_, route_.peer, request_, [&](auto status) { return cannot(status); });
}

Result<std::size_t> UcxSend::wait() {
    DET_TRY(poll(*session_, *this, route_.peer));
    return bytes_.size();
}

UcxReceive::~UcxReceive() {
    leave_lane();
    if (request_ == nullptr) return;
    ucp_request_cancel(session_->worker(), request_);
    session_->wait_for(std::exchange(request_, nullptr), letting_go_time);
}

Error UcxReceive::cannot(ucs_status_t status) const {
    return ucx_error(fmt::format("receive at rank {} from rank {} (tag {})", session_->rank().value,
                                 route_.peer.value, route_.tag.value),
                     status);
}

Status UcxReceive::start() {
    session_->receives[lane()].push_back(this);
    // Two ranks that only receive from each other would never be connected, nor learn that the other is lost.
    DET_TRY(session_->endpoint(route_.peer));
    return Ok{};
}

void UcxReceive::leave_lane() {
    auto const waiting = session_->receives.find(lane());
    if (waiting == session_->receives.end()) return;
    std::erase(waiting->second, this);
    if (waiting->second.empty()) session_->receives.erase(waiting);
}

Status UcxReceive::find() {
    ucp_tag_recv_info_t info{};
    auto* const message =
        ucp_tag_probe_nb(session_->worker(), ucp_tag(route_.peer, route_.tag), whole_tag, 1, &info);
    if (message == nullptr) return Ok{};
    leave_lane();
    size_ = info.length;
    auto place = into_;
    if (info.length > into_.size()) {
        dropped_.resize(info.length);
        place = dropped_;
    }
    auto const params = no_params();
    request_ = ucp_tag_msg_recv_nbx(session_->worker(), place.data(), info.length, message, &params);
    if (UCS_PTR_IS_ERR(request_)) return cannot(UCS_PTR_STATUS(std::exchange(request_, nullptr)));
    return Ok{};
}

Result<bool> UcxReceive::test() {
    if (!size_) {
        session_->progress();
        while (!size_) {
            auto* const first = session_->receives.at(lane()).front();
            DET_TRY(first->find());
            if (!first->size_) break;
        }
    }
    if (!size_) {
        DET_TRY(session_->check_alive(route_.peer));
        return false;
    }
    return move_on(*session_, route_.peer, request_, [&](auto status) { return cannot(status); });
}

Result<std::size_t> UcxReceive::wait() {
    DET_TRY(poll(*session_, *this, route_.peer));
    return *size_;
}

}  // namespace det::transport
