#include <det/foundation/process.hpp>
#include <det/foundation/signal_sender.hpp>
#include <det/launch/launchers/monitor_launch.hpp>
#include <det/launch/launchers/worker.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <fmt/format.h>
#include <list>
#include <optional>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

#include "child.hpp"

namespace det::launch::launchers {
namespace {

using Time = std::chrono::steady_clock::time_point;

/// The workers of a launch that are connected.
class WorkerRegistry {
public:
    static Result<WorkerRegistry> open(std::filesystem::path const& path);
    WorkerRegistry(WorkerRegistry&&) = default;
    WorkerRegistry& operator=(WorkerRegistry&&) = delete;
    ~WorkerRegistry();

    std::filesystem::path const& path() const { return path_; }
    void add_to(std::vector<pollfd>& polled) const;
    /// Accepts new workers and reads messages and disconnections into `facts`.
    void process_messages(LaunchFacts& facts);
    /// Number of connected workers, without commands on other nodes.
    int connected() const;
    /// Closes all connections: the workers kill what they started.
    void disconnect_all() { members_.clear(); }

private:
    struct Member {
        UniqueFd socket;
        WorkerHello hello;
        bool has_exited = false;
    };
    WorkerRegistry(std::filesystem::path path, UniqueFd listening)
        : path_(std::move(path)), listening_(std::move(listening)) {}
    void accept_workers();
    /// Returns false if the worker has disconnected.
    static bool receive(Member& member, LaunchFacts& facts);
    static void on_disconnect(Member const& member, LaunchFacts& facts);

    std::filesystem::path path_;
    UniqueFd listening_;
    std::list<Member> members_;
};

bool is_worker(WorkerHello const& hello) { return hello.kind == WorkerHello::Kind::worker; }

void record_exit(WorkerHello const& hello, WorkerExit const& exit, LaunchFacts& facts) {
    if (exit.exit_code == 0) return;
    if (is_worker(hello) && exit.exit_code == 128 + SIGTERM) {
        facts.was_terminated = true;
        return;
    }
    auto& first = is_worker(hello) ? facts.first_failure : facts.remote_failure;
    if (!first) first = exit.exit_code;
}

Result<WorkerRegistry> WorkerRegistry::open(std::filesystem::path const& path) {
    DET_TRY_ASSIGN(auto listening, listen_at(path));
    ::fcntl(listening.get(), F_SETFL, O_NONBLOCK);
    return WorkerRegistry(path, std::move(listening));
}

WorkerRegistry::~WorkerRegistry() {
    if (listening_) ::unlink(path_.c_str());
}

void WorkerRegistry::add_to(std::vector<pollfd>& polled) const {
    polled.push_back({listening_.get(), POLLIN, 0});
    for (auto const& member : members_) polled.push_back({member.socket.get(), POLLIN, 0});
}

void WorkerRegistry::accept_workers() {
    for (;;) {
        UniqueFd socket(::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
        if (!socket) return;
        members_.push_back({std::move(socket), {WorkerHello::Kind::worker, "a worker"}, false});
    }
}

bool WorkerRegistry::receive(Member& member, LaunchFacts& facts) {
    std::array<char, message_size_max> buffer;
    for (;;) {
        auto const size = ::recv(member.socket.get(), buffer.data(), buffer.size(), 0);
        if (size < 0 && (errno == EAGAIN || errno == EINTR)) return true;
        if (size <= 0) break;
        auto const message = parse_message({buffer.data(), static_cast<std::size_t>(size)});
        if (!message) continue;
        if (auto const* hello = std::get_if<WorkerHello>(&*message)) {
            member.hello = *hello;
        } else {
            member.has_exited = true;
            record_exit(member.hello, std::get<WorkerExit>(*message), facts);
        }
    }
    if (!member.has_exited && is_worker(member.hello)) on_disconnect(member, facts);
    return false;
}

void WorkerRegistry::on_disconnect(Member const& member, LaunchFacts& facts) {
    if (!facts.disconnected) facts.disconnected = member.hello.name;
    ucred peer{};
    socklen_t size = sizeof peer;
    // A worker leads the process group of its command.
    bool const is_known = ::getsockopt(member.socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0;
    if (is_known && peer.pid > 1) ::kill(-peer.pid, SIGKILL);
}

void WorkerRegistry::process_messages(LaunchFacts& facts) {
    accept_workers();
    members_.remove_if([&](Member& member) { return !receive(member, facts); });
}

int WorkerRegistry::connected() const {
    return static_cast<int>(
        std::ranges::count_if(members_, [](Member const& member) { return is_worker(member.hello); }));
}

/// A launch from the start of its first process to the end of its last.
class Launch {
public:
    /// \param withheld signals that the processes of the plan do not get
    Launch(WorkerRegistry registry, SignalReader signals, std::vector<int> withheld, Clock const& clock,
           MonitorOptions const& options)
        : registry_(std::move(registry)),
          signals_(std::move(signals)),
          withheld_(std::move(withheld)),
          clock_(clock),
          options_(options) {}

    Status start(LaunchPlan const& plan) {
        facts_.remote_failure_counts = plan.fails_with_remote_commands;
        // A launcher that gets a notice would end its ranks. The wrapper of each rank unblocks the signals.
        auto mask = signals_.mask_before();
        for (int const number : withheld_) ::sigaddset(&mask, number);
        for (auto const& process : plan.processes) {
            auto environment = process.environment;
            environment.set(socket_variable, registry_.path());
            DET_TRY_ASSIGN(auto child, Child::start(process.argv, environment, mask, Group::own));
            children_.push_back(std::move(child));
        }
        return Ok{};
    }

    Result<int> watch() {
        while (is_running()) {
            DET_TRY(wait());
            while (auto const info = signals_.take()) on_signal(*info);
            registry_.process_messages(facts_);
            reap();
            // Reads again: a worker may have sent its exit code after the first read and before its launcher
            // ended.
            registry_.process_messages(facts_);
            act();
        }
        auto const outcome = launch_outcome(facts_);
        if (!outcome.reason.empty()) options_.log(outcome.reason);
        return outcome.exit_code;
    }

private:
    enum class Stage { running, grace, ending, ended };

    bool is_running() const {
        return stage_ != Stage::ended && (!children_.empty() || registry_.connected() > 0);
    }

    Status wait() {
        std::vector<pollfd> polled{{signals_.fd(), POLLIN, 0}};
        registry_.add_to(polled);
        for (auto const& child : children_) polled.push_back({child.pidfd(), POLLIN, 0});
        if (::poll(polled.data(), polled.size(), poll_timeout_ms(deadline_, clock_.steady_now())) < 0 &&
            errno != EINTR) {
            return os_error("wait", errno);
        }
        return Ok{};
    }

    void on_signal(signalfd_siginfo const& info) {
        auto const number = static_cast<int>(info.ssi_signo);
        if (std::ranges::find(withheld_, number) == withheld_.end()) {
            for (auto& child : children_) child.signal(number);
            return;
        }
        // Slurm's notice does not end a launch; TERM of another process, for example timeout(1), does.
        bool const ends =
            number == SIGTERM && !is_sent_by_slurm(static_cast<pid_t>(info.ssi_pid), info.ssi_uid);
        if (!ends || stage_ == Stage::ending) return;
        facts_.was_terminated = true;
        enter(Stage::grace, std::chrono::milliseconds(0));
    }

    void reap() {
        for (auto child = children_.begin(); child != children_.end();) {
            auto const status = child->poll_wait_status();
            if (!status) {
                ++child;
                continue;
            }
            facts_.launcher_exit = std::max(facts_.launcher_exit, exit_code_of_wait_status(*status));
            child = children_.erase(child);
        }
    }

    /// Moves to the next stage if something failed or the time of the stage is over.
    void act() {
        bool const has_failed = facts_.first_failure || facts_.disconnected || facts_.launcher_exit != 0 ||
                                (facts_.remote_failure && facts_.remote_failure_counts);
        bool const is_without_launcher = children_.empty() && registry_.connected() > 0;
        if (stage_ == Stage::running && (has_failed || is_without_launcher))
            enter(Stage::grace, options_.grace);
        if (stage_ == Stage::ending) registry_.disconnect_all();  // workers that connected late
        if (!deadline_ || clock_.steady_now() < *deadline_) return;
        if (stage_ == Stage::grace) {
            if (children_.empty()) facts_.unfinished = registry_.connected();
            if (registry_.connected() > 0)
                options_.log(fmt::format("ending {} workers", registry_.connected()));
            registry_.disconnect_all();
            enter(Stage::ending, options_.kill_timeout);
        } else {
            stage_ = Stage::ended;  // the destructor kills the children
        }
    }

    void enter(Stage stage, std::chrono::milliseconds time) {
        stage_ = stage;
        deadline_ = clock_.steady_now() + time;
    }

    WorkerRegistry registry_;
    SignalReader signals_;
    std::vector<int> withheld_;
    Clock const& clock_;
    MonitorOptions const& options_;
    std::list<Child> children_;
    LaunchFacts facts_;
    Stage stage_ = Stage::running;
    std::optional<Time> deadline_;
};

}  // namespace

LaunchOutcome launch_outcome(LaunchFacts const& facts) {
    int const launcher_or_one = facts.launcher_exit != 0 ? facts.launcher_exit : 1;
    if (facts.first_failure) {
        return {*facts.first_failure, fmt::format("a worker ended with {}", *facts.first_failure)};
    }
    if (facts.was_terminated && facts.launcher_exit == 0)
        return {128 + SIGTERM, "a worker was ended by TERM"};
    if (facts.disconnected)
        return {launcher_or_one, fmt::format("{} disconnected without an exit code", *facts.disconnected)};
    if (facts.unfinished > 0 && facts.launcher_exit == 0) {
        return {launcher_or_one,
                fmt::format("the launcher ended before {} of its workers", facts.unfinished)};
    }
    if (facts.launcher_exit == 0 && !(facts.remote_failure_counts && facts.remote_failure)) return {};
    if (facts.remote_failure) {
        return {*facts.remote_failure,
                fmt::format("a command on another node ended with {}", *facts.remote_failure)};
    }
    return {facts.launcher_exit, fmt::format("the launcher ended with {}", facts.launcher_exit)};
}

Result<int> monitor_launch(LaunchPlan const& plan, std::filesystem::path const& run_dir, Clock const& clock,
                           MonitorOptions const& options) {
    DET_TRY_ASSIGN(auto registry, WorkerRegistry::open(run_dir / fmt::format("workers-{}", ::getpid())));
    DET_TRY_ASSIGN(auto signals, open_forwarded_signals());
    auto withheld =
        plan.processes.empty() ? std::vector<int>() : notice_signals(plan.processes.front().environment);
    Launch launch(std::move(registry), std::move(signals), std::move(withheld), clock, options);
    DET_TRY(launch.start(plan));
    return launch.watch();
}

}  // namespace det::launch::launchers
