#include "reach_attempt.hpp"

#include <cerrno>
#include <poll.h>
#include <sys/socket.h>

namespace det::transport {
namespace {

/// \param problem errno of a connect that has ended; 0: it is connected
Reach reach_by_errno(int problem) {
    switch (problem) {
        case 0:
            return Reach::connected;
        case ECONNREFUSED:
            return Reach::refused;
        // Says something about this host only.
        case EMFILE:
        case ENFILE:
        case ENOBUFS:
        case ENOMEM:
        case EADDRNOTAVAIL:
            return Reach::unknown;
        default:
            return Reach::unreachable;
    }
}

}  // namespace

ReachAttempt::ReachAttempt(Endpoint const& target, TimePoint now) : target_(target) { begin(now); }

void ReachAttempt::begin(TimePoint now) {
    deadline_ = now + limit;
    auto started = begin_connecting(target_);
    if (!started)
        result_ = Reach::unreachable;
    else if (started->problem != 0)
        result_ = reach_by_errno(started->problem);
    else
        socket_ = std::move(started->socket);
}

Reach ReachAttempt::result(TimePoint now) {
    if (result_ != Reach::unknown) return result_;
    if (!socket_) {
        begin(now);
        if (!socket_) return result_;
    }
    pollfd entry{socket_.get(), POLLOUT, 0};
    bool has_ended = ::poll(&entry, 1, 0) > 0;
    if (has_ended) {
        int problem = 0;
        socklen_t size = sizeof problem;
        ::getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &problem, &size);
        result_ = reach_by_errno(problem);
    } else if (now >= deadline_) {
        has_ended = true;
        result_ = Reach::unreachable;
    }
    if (has_ended) socket_.reset();
    return result_;
}

}  // namespace det::transport
