#include "supervisor.hpp"

#include <det/foundation/process.hpp>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include "deadline.hpp"
#include "keeper_log.hpp"
#include "signal_watch.hpp"

namespace det::loopback {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds quick{10};  // a daemon that lives longer starts with a clean record
constexpr int quick_deaths_max = 8;
constexpr int deaths_before_ready_max = 2;  // a wrong configuration does not get better
constexpr seconds stop_limit{5};

milliseconds restart_delay(int quick_deaths) {
    return std::min<milliseconds>(milliseconds(100) * (1 << std::min(quick_deaths, 10)), seconds(5));
}

std::string describe_exit(int wait_status) {
    if (WIFSIGNALED(wait_status)) return fmt::format("by signal {}", WTERMSIG(wait_status));
    return fmt::format("with exit code {}", WEXITSTATUS(wait_status));
}

std::vector<char*> to_pointers(std::vector<std::string>& strings) {
    std::vector<char*> pointers;
    for (auto& string : strings) pointers.push_back(string.data());
    pointers.push_back(nullptr);
    return pointers;
}

void redirect(std::filesystem::path const& output) {
    int const nothing = ::open("/dev/null", O_RDONLY);
    ::dup2(nothing, STDIN_FILENO);
    int const log = ::open(output.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
    ::dup2(log, STDOUT_FILENO);
    ::dup2(log, STDERR_FILENO);
}

[[noreturn]] void become(DaemonSpec spec, std::vector<std::string> environment) {
    redirect(spec.output);
    ::setsid();
    ::close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC);
    if (spec.host == nullptr || spec.host->enter()) {
        restore_default_signals();
        ::execvpe(spec.argv.at(0).c_str(), to_pointers(spec.argv).data(), to_pointers(environment).data());
    }
    ::perror(spec.argv.at(0).c_str());
    ::_exit(127);
}

}  // namespace

std::string_view to_string(DaemonState state) {
    switch (state) {
        case DaemonState::waiting:
            return "waiting";
        case DaemonState::running:
            return "running";
        case DaemonState::restarting:
            return "restarting";
        case DaemonState::held:
            return "killed";
        case DaemonState::given_up:
            return "given-up";
    }
    return "unknown";
}

void Supervisor::add(DaemonSpec spec) { daemons_.push_back(Daemon{std::move(spec)}); }

void Supervisor::spawn(Daemon& daemon, Time now) {
    daemon.since = now;
    pid_t const pid = ::fork();
    if (pid == 0) become(daemon.spec, environment_);
    if (pid < 0) {
        log_line(fmt::format("{} can't be started: {}", daemon.spec.name, std::strerror(errno)));
        daemon.state = DaemonState::given_up;
        return;
    }
    daemon.pid = pid;
    daemon.state = DaemonState::running;
    log_line(fmt::format("{} started, pid {}", daemon.spec.name, pid));
}

void Supervisor::tick(Time now) {
    for (auto& daemon : daemons_) {
        bool const due = (daemon.state == DaemonState::waiting && is_ready_before(daemon.spec.stage)) ||
                         (daemon.state == DaemonState::restarting && now >= daemon.since);
        if (due) spawn(daemon, now);
        if (daemon.state == DaemonState::running && !daemon.was_ready) {
            daemon.was_ready = daemon.spec.is_ready(daemon.pid);
        }
    }
}

bool Supervisor::is_ready_before(int stage) const {
    return std::all_of(daemons_.begin(), daemons_.end(),
                       [&](Daemon const& daemon) { return daemon.was_ready || daemon.spec.stage >= stage; });
}

void Supervisor::on_exit(pid_t pid, int wait_status, Time now) {
    auto const has_pid = [&](Daemon const& daemon) { return daemon.pid == pid; };
    auto const found = std::find_if(daemons_.begin(), daemons_.end(), has_pid);
    if (found == daemons_.end()) return;
    auto& daemon = *found;
    daemon.pid = -1;
    log_line(fmt::format("{} ended {}", daemon.spec.name, describe_exit(wait_status)));
    if (daemon.state != DaemonState::running) return;
    daemon.quick_deaths = now - daemon.since < quick ? daemon.quick_deaths + 1 : 0;
    if (daemon.quick_deaths > (daemon.was_ready ? quick_deaths_max : deaths_before_ready_max)) {
        daemon.state = DaemonState::given_up;
        log_line(fmt::format("{} died {} times in a row: given up", daemon.spec.name, daemon.quick_deaths));
        return;
    }
    daemon.state = DaemonState::restarting;
    daemon.since = now + restart_delay(daemon.quick_deaths);
    ++daemon.restarts;
}

Supervisor::Daemon* Supervisor::find(std::string const& name) {
    auto const named = [&](Daemon const& daemon) { return daemon.spec.name == name; };
    auto const found = std::find_if(daemons_.begin(), daemons_.end(), named);
    return found == daemons_.end() ? nullptr : &*found;
}

bool Supervisor::kill(std::string const& name) {
    auto* daemon = find(name);
    if (daemon == nullptr) return false;
    daemon->state = DaemonState::held;
    if (daemon->pid > 0) ::kill(daemon->pid, SIGKILL);
    return true;
}

bool Supervisor::start(std::string const& name) {
    auto* daemon = find(name);
    if (daemon == nullptr) return false;
    if (daemon->pid > 0 && daemon->state == DaemonState::running) return true;
    daemon->quick_deaths = 0;
    daemon->since = {};
    daemon->state = DaemonState::restarting;
    return true;
}

void Supervisor::reap() {
    int status = 0;
    for (pid_t pid = 0; (pid = ::waitpid(-1, &status, WNOHANG)) > 0;) {
        on_exit(pid, status, std::chrono::steady_clock::now());
    }
}

void Supervisor::stop(int stage) {
    for (auto& daemon : daemons_) {
        if (daemon.spec.stage != stage) continue;
        daemon.state = DaemonState::held;
        if (daemon.pid > 0) ::kill(daemon.pid, SIGTERM);
    }
    poll_until(Deadline(stop_limit), [&] {
        reap();
        return std::none_of(daemons_.begin(), daemons_.end(), [&](Daemon const& daemon) {
            return daemon.pid > 0 && daemon.spec.stage == stage;
        });
    });
}

void Supervisor::shut_down() {
    int last = 0;
    for (auto const& daemon : daemons_) last = std::max(last, daemon.spec.stage);
    for (int stage = last; stage >= 0; --stage) stop(stage);
}

bool Supervisor::all_ready() const {
    return std::all_of(daemons_.begin(), daemons_.end(),
                       [](Daemon const& daemon) { return daemon.was_ready; });
}

Supervisor::Daemon const* Supervisor::find_given_up() const {
    auto const is_lost = [](Daemon const& daemon) { return daemon.state == DaemonState::given_up; };
    auto const found = std::find_if(daemons_.begin(), daemons_.end(), is_lost);
    return found == daemons_.end() ? nullptr : &*found;
}

bool Supervisor::needs_ticks() const {
    return !all_ready() || std::any_of(daemons_.begin(), daemons_.end(), [](Daemon const& daemon) {
        return daemon.state == DaemonState::restarting;
    });
}

}  // namespace det::loopback
