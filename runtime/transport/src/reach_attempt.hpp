#pragma once
#include <det/transport/node_monitor.hpp>

#include "socket.hpp"

namespace det::transport {

/// An attempt to connect to a port of a host, which shows whether the host is up. Nothing is sent. While this
/// host itself has no descriptor, memory or port for it, the attempt has not begun: result() tries again.
class ReachAttempt {
public:
    /// A lost first packet is repeated by the kernel after a second, and another time after three.
    static constexpr std::chrono::milliseconds limit{2500};

    ReachAttempt(Endpoint const& target, TimePoint now);

    /// Readable, as poll(2) has it, with POLLOUT when result() may have changed; -1 once it is known.
    int fd() const { return socket_.get(); }
    TimePoint deadline() const { return deadline_; }
    /// Reach::unknown until the attempt has ended. An answer that came while this thread did not run counts,
    /// although the deadline has passed.
    Reach result(TimePoint now);

private:
    void begin(TimePoint now);
    void take(int problem);

    Endpoint target_;
    UniqueFd socket_;
    TimePoint deadline_;
    Reach result_ = Reach::unknown;
};

}  // namespace det::transport
