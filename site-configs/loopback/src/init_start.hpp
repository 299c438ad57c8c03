#pragma once
#include <det/foundation/files.hpp>
#include <det/foundation/polling.hpp>

#include <functional>
#include <string_view>

#include "cluster_options.hpp"
#include "deadline.hpp"

// 'cluster up' starts the init process and waits for its report, which arrives through a pipe. Each message
// is a line:
//
//     say TEXT         progress, printed for the user
//     started          all daemons are ready
//     failed TEXT      the reason, which may continue on further lines; the init process ends
namespace det::loopback {

/// Starts the init process: this program again, as a daemon and as the first process of a new PID namespace.
/// Returns the read end of the startup pipe.
Result<UniqueFd> start_init_process(InitOptions const& options);

/// Waits until the init process reports 'started'. Fails with codes::process if it reports 'failed' or ends,
/// with codes::timed_out, or with codes::interrupted if a signal arrives.
Status wait_until_started(UniqueFd const& pipe, SignalReader const& interrupts, Deadline const& deadline,
                          std::function<void(std::string_view)> const& say);

/// The descriptor at which the init process inherits the write end of the startup pipe.
inline constexpr int startup_fd = 3;

/// The write end of the startup pipe.
class StartupReport {
public:
    explicit StartupReport(UniqueFd pipe) : pipe_(std::move(pipe)) {}

    bool is_open() const { return static_cast<bool>(pipe_); }
    // say() and started() return false if 'cluster up' has ended.
    bool say(std::string_view text) { return send("say", text); }
    bool started();
    void failed(Error const& error);

private:
    bool send(std::string_view kind, std::string_view text);

    UniqueFd pipe_;
};

}  // namespace det::loopback
