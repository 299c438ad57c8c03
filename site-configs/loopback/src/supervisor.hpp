#pragma once
#include <det/foundation/result.hpp>

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <sys/types.h>
#include <vector>

#include "namespaces.hpp"

namespace det::loopback {

struct DaemonSpec {
    std::string name;
    std::vector<std::string> argv;
    std::filesystem::path output;          // what it writes to stdout and stderr is appended here
    int stage = 0;                         // starts when all of the stages before are ready
    HostNamespaces const* host = nullptr;  // nothing: where the keeper is
    std::function<bool(pid_t)> is_ready;
};

enum class DaemonState {
    waiting,     // for the stages before it
    running,     // it has a pid, ready or not
    restarting,  // it died, and is given a moment
    held,        // killed on request: started on request
    given_up,    // died again and again
};
std::string_view to_string(DaemonState state);

/// Starts daemons stage by stage, and starts again what dies without having been told to.
class Supervisor {
public:
    using Time = std::chrono::steady_clock::time_point;

    struct Daemon {
        DaemonSpec spec;
        DaemonState state = DaemonState::waiting;
        pid_t pid = -1;
        bool was_ready = false;
        int restarts = 0;
        int quick_deaths = 0;  // in a row
        Time since = {};       // started at, or to be started at
    };

    explicit Supervisor(std::vector<std::string> environment) : environment_(std::move(environment)) {}

    void add(DaemonSpec spec);
    /// Does what is due.
    void tick(Time now);
    /// Buries every child that has ended: daemons, and orphans that we know nothing of.
    void reap();

    /// False where there is no such daemon.
    bool kill(std::string const& name);
    bool start(std::string const& name);
    /// TERM with a time limit, last stage first. What is left then ends with the PID namespace.
    void shut_down();

    std::vector<Daemon> const& daemons() const { return daemons_; }
    bool all_ready() const;
    /// A daemon that could not be kept alive.
    Daemon const* find_given_up() const;
    /// True while something is to be done at a time of its own.
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

}  // namespace det::loopback
