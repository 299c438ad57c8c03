#include "daemon_supervisor.hpp"

#include <det/foundation/clock.hpp>
#include <det/foundation/process.hpp>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include "deadline.hpp"
#include "process_handle.hpp"

namespace det::loopback {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds quick{10};  // a daemon that ran longer resets its count of quick deaths
constexpr int quick_deaths_max = 8;
constexpr int deaths_before_ready_max = 2;  // few, because the usual cause is a wrong configuration
constexpr seconds stop_limit{5};

milliseconds restart_delay(int quick_deaths) {
    return std::min<milliseconds>(milliseconds(100) * (1 << std::min(quick_deaths, 10)), seconds(5));
}

std::string describe_exit(int wait_status) {
    if (WIFSIGNALED(wait_status)) return fmt::format("by signal {}", WTERMSIG(wait_status));
    return fmt::format("with exit code {}", WEXITSTATUS(wait_status));
}

void redirect(std::filesystem::path const& output) {
    int const null_device = ::open("/dev/null", O_RDONLY);
    ::dup2(null_device, STDIN_FILENO);
    int const log = ::open(output.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
    ::dup2(log, STDOUT_FILENO);
    ::dup2(log, STDERR_FILENO);
}

[[noreturn]] void execute(DaemonSpec const& spec, std::vector<std::string> const& environment) {
    redirect(spec.output);
    ::setsid();
    ::close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC);
    if (spec.host == nullptr || spec.host->enter()) {
        restore_default_signals();
        ::execvpe(spec.argv.at(0).c_str(), CStrings(spec.argv).data(), CStrings(environment).data());
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

void DaemonSupervisor::add(DaemonSpec spec) { daemons_.push_back(Daemon{std::move(spec)}); }

void DaemonSupervisor::spawn(Daemon& daemon, Time now) {
    daemon.since = now;
    pid_t const pid = ::fork();
    if (pid == 0) execute(daemon.spec, environment_);
    if (pid < 0) {
        log_line(fmt::format("starting {} failed: {}", daemon.spec.name, std::strerror(errno)));
        daemon.state = DaemonState::given_up;
        return;
    }
    daemon.pid = pid;
    daemon.state = DaemonState::running;
    log_line(fmt::format("{} started, pid {}", daemon.spec.name, pid));
}

void DaemonSupervisor::tick(Time now) {
    for (auto& daemon : daemons_) {
        // After kill() and start() the killed process may not have been reaped yet.
        bool const has_ended = daemon.pid < 0;
        bool const due = (daemon.state == DaemonState::waiting && is_ready_before(daemon.spec.stage)) ||
                         (daemon.state == DaemonState::restarting && has_ended && now >= daemon.since);
        if (due) spawn(daemon, now);
        if (daemon.state == DaemonState::running && !daemon.was_ready) {
            daemon.was_ready = daemon.spec.is_ready(daemon.pid);
        }
    }
}

bool DaemonSupervisor::is_ready_before(int stage) const {
    return std::all_of(daemons_.begin(), daemons_.end(),
                       [&](Daemon const& daemon) { return daemon.was_ready || daemon.spec.stage >= stage; });
}

void DaemonSupervisor::on_exit(pid_t pid, int wait_status, Time now) {
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

DaemonSupervisor::Daemon* DaemonSupervisor::find(std::string const& name) {
    auto const named = [&](Daemon const& daemon) { return daemon.spec.name == name; };
    auto const found = std::find_if(daemons_.begin(), daemons_.end(), named);
    return found == daemons_.end() ? nullptr : &*found;
}

bool DaemonSupervisor::kill(std::string const& name) {
    auto* daemon = find(name);
    if (daemon == nullptr) return false;
    daemon->state = DaemonState::held;
    if (daemon->pid > 0) ::kill(daemon->pid, SIGKILL);
    return true;
}

bool DaemonSupervisor::start(std::string const& name) {
    auto* daemon = find(name);
    if (daemon == nullptr) return false;
    if (daemon->pid > 0 && daemon->state == DaemonState::running) return true;
    daemon->quick_deaths = 0;
    daemon->since = {};
    daemon->state = DaemonState::restarting;
    return true;
}

void DaemonSupervisor::reap() {
    int status = 0;
    for (pid_t pid = 0; (pid = ::waitpid(-1, &status, WNOHANG)) > 0;) {
        on_exit(pid, status, std::chrono::steady_clock::now());
    }
}

void DaemonSupervisor::stop(int stage) {
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

void DaemonSupervisor::shut_down() {
    int last = 0;
    for (auto const& daemon : daemons_) last = std::max(last, daemon.spec.stage);
    for (int stage = last; stage >= 0; --stage) stop(stage);
}

bool DaemonSupervisor::all_were_ready() const {
    return std::all_of(daemons_.begin(), daemons_.end(),
                       [](Daemon const& daemon) { return daemon.was_ready; });
}

DaemonSupervisor::Daemon const* DaemonSupervisor::find_given_up() const {
    auto const has_given_up = [](Daemon const& daemon) { return daemon.state == DaemonState::given_up; };
    auto const found = std::find_if(daemons_.begin(), daemons_.end(), has_given_up);
    return found == daemons_.end() ? nullptr : &*found;
}

bool DaemonSupervisor::needs_ticks() const {
    return !all_were_ready() || std::any_of(daemons_.begin(), daemons_.end(), [](Daemon const& daemon) {
        return daemon.state == DaemonState::restarting;
    });
}

void log_line(std::string_view text) { fmt::print(stderr, "{} {}\n", format_utc(SystemClock().now()), text); }

}  // namespace det::loopback
