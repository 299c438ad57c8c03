#pragma once
#include <det/foundation/result.hpp>

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

#include "namespaces.hpp"

namespace det::loopback {

struct DaemonSpec {
    std::string name;
    std::vector<std::string> argv;
    std::filesystem::path output;  // file to which stdout and stderr are appended
    int stage = 0;                 // a daemon starts once every daemon of a lower stage has been ready
    HostNamespaces const* host = nullptr;  // nullptr: the controller's host
    std::function<bool(pid_t)> is_ready;
};

enum class DaemonState {
    waiting,     // until the lower stages are ready
    running,     // has a pid; may not be ready yet
    restarting,  // has died; starts again after a delay
    held,        // ended by kill() or shut_down(); starts on request only
    given_up,    // died too many times in a row, or could not be forked
};
std::string_view to_string(DaemonState state);

/// Starts daemons stage by stage. Restarts a daemon that dies, unless kill() or shut_down() has ended it or
/// it has died too often in a row.
class DaemonSupervisor {
public:
    using Time = std::chrono::steady_clock::time_point;

    struct Daemon {
        DaemonSpec spec;
        DaemonState state = DaemonState::waiting;
        pid_t pid = -1;
        bool was_ready = false;
        int restarts = 0;
        int quick_deaths = 0;  // in a row
        Time since = {};       // time of the start; while restarting, of the next start
    };

    explicit DaemonSupervisor(std::vector<std::string> environment) : environment_(std::move(environment)) {}

    void add(DaemonSpec spec);
    /// Starts the daemons that are due and asks those that run whether they are ready.
    void tick(Time now);
    /// Reaps every child that has ended: daemons, and orphans that the kernel gave to the init process.
    void reap();

    /// Kills the daemon with SIGKILL; it stays down until start(). Returns false if there is no such daemon.
    bool kill(std::string const& name);
    /// Makes tick() start a daemon that is not running, without delay and without waiting for lower stages:
    /// the next tick(), or after kill() the first one after reap() has reaped the process. Does nothing to a
    /// running daemon. Returns false if there is no such daemon.
    bool start(std::string const& name);
    /// Sends SIGTERM to the daemons, last stage first, and waits up to 5 s for each stage.
    void shut_down();

    std::vector<Daemon> const& daemons() const { return daemons_; }
    bool all_were_ready() const;
    /// Returns the first daemon in state given_up, or nullptr.
    Daemon const* find_given_up() const;
    /// True while tick() has to be called periodically.
    bool needs_ticks() const;

private:
    Daemon* find(std::string const& name);
    void spawn(Daemon& daemon, Time now);
    void on_exit(pid_t pid, int wait_status, Time now);
    bool is_ready_before(int stage) const;
    void stop(int stage);

    std::vector<std::string> environment_;
    std::vector<Daemon> daemons_;
};

/// Writes a line with the time to stderr, which is log/init.log.
void log_line(std::string_view text);

}  // namespace det::loopback
