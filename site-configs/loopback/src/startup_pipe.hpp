#pragma once
#include <det/foundation/files.hpp>

#include <functional>
#include <string>
#include <string_view>

#include "deadline.hpp"
#include "signal_watch.hpp"

// How a starting keeper talks to the 'cluster up' that waits for it. One line each:
//
//     say TEXT         progress, for people
//     started          every daemon runs
//     failed TEXT      and whatever follows: why not; the keeper ends
namespace det::loopback {

/// The keeper's end. The caller may be gone: then the keeper is not wanted either.
class StartupReport {
public:
    explicit StartupReport(UniqueFd pipe) : pipe_(std::move(pipe)) {}

    bool is_open() const { return static_cast<bool>(pipe_); }
    /// False where nobody listens any more.
    bool say(std::string_view text) { return send("say", text); }
    bool started();
    void failed(Error const& error);

private:
    bool send(std::string_view kind, std::string_view text);

    UniqueFd pipe_;
};

/// Waits until the keeper says that it has started. An interrupt is an error too.
Status await_started(UniqueFd const& pipe, SignalWatch const& interrupts, Deadline const& deadline,
                     std::function<void(std::string_view)> const& say);

}  // namespace det::loopback
