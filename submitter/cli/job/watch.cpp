#include "job/watch.hpp"

#include <det/experiment/query_all_jobs.hpp>
#include <det/foundation/process.hpp>

#include <csignal>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "command.hpp"

namespace det::cli {
namespace {

using Steady = std::chrono::steady_clock::time_point;

// All users share slurmctld: a shorter interval would load it.
constexpr double shortest_interval_s = 2, longest_interval_s = 3600;

class Watch final : public LiveScreen {
public:
    Watch(WatchView view, ScreenTerminal& terminal, Session& session, FollowFunction const& follow)
        : view_(std::move(view)), terminal_(terminal), session_(session), follow_(follow) {}

    void read() override {
        auto snapshot = experiment::query_all_jobs(session_, experiment::PartitionsNeed::where_they_matter);
        if (snapshot) {
            view_.snapshot = *std::move(snapshot);
            view_.read_at = session_.clock.now();
        } else {
            view_.message = snapshot.error().message + "; the shown jobs are old";
        }
        last_reading_ = session_.clock.steady_now();
        next_reading_ =
            last_reading_ + std::chrono::milliseconds(static_cast<std::int64_t>(view_.interval_s * 1000));
    }

    Steady next_reading() const override { return next_reading_; }

    std::vector<std::string> render(ScreenSize size) override {
        scroll_to_selected(view_, size);
        return render_screen(view_, size);
    }

    bool on_key(Key key, ScreenSize size) override {
        auto const action = cli::on_key(view_, key, size);
        act(action);
        return !std::holds_alternative<Quit>(action);
    }

private:
    void act(Action const& action) {
        if (std::holds_alternative<Refresh>(action)) {
            // A repeated key must not query slurmctld more often than once per shortest_interval_s.
            next_reading_ = last_reading_ + std::chrono::seconds(static_cast<int>(shortest_interval_s));
        } else if (auto const* logs = std::get_if<FollowLogs>(&action)) {
            terminal_.leave();
            auto const followed = follow_(logs->experiment);
            if (!followed) view_.message = followed.error().message;
            if (auto const entered = terminal_.enter(); !entered) view_.message = entered.error().message;
        }
    }

    WatchView view_;
    ScreenTerminal& terminal_;
    Session& session_;
    FollowFunction const& follow_;
    Steady next_reading_, last_reading_;
};

std::vector<std::string> logs_command(std::uint32_t experiment) {
    return {"det-submit", "trial", "logs", std::to_string(experiment), "--follow"};
}

/// Ignores SIGINT during its lifetime, so that Ctrl-C ends only the child process.
class IgnoredInterrupt {
public:
    IgnoredInterrupt() : before_(::signal(SIGINT, SIG_IGN)) {}
    ~IgnoredInterrupt() { ::signal(SIGINT, before_); }
    IgnoredInterrupt(IgnoredInterrupt const&) = delete;
    IgnoredInterrupt& operator=(IgnoredInterrupt const&) = delete;

private:
    void (*before_)(int);
};

/// Runs `det-submit trial logs --follow` for the experiment's first trial in the same terminal. Returns when
/// that process ends: when the trial has ended, or after Ctrl-C.
Status follow_logs(std::uint32_t experiment) {
    IgnoredInterrupt const ignored;
    posix_spawnattr_t attributes;
    ::posix_spawnattr_init(&attributes);
    sigset_t defaults;
    ::sigemptyset(&defaults);
    ::sigaddset(&defaults, SIGINT);
    ::posix_spawnattr_setsigdefault(&attributes, &defaults);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    CStrings const argv(logs_command(experiment));
    pid_t child = -1;
    int const failed = ::posix_spawn(&child, "/proc/self/exe", nullptr, &attributes, argv.data(), environ);
    ::posix_spawnattr_destroy(&attributes);
    if (failed != 0) return os_error("start det-submit", failed);
    while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
    }
    return Ok{};
}

class JobWatch final : public Command {
public:
    std::vector<Option> options() override {
        return {{"-p,--resource-pool", &pool_, "begin with the jobs of this pool"},
                {"-u,--user", &user_, "begin with the jobs of this user"},
                {"--interval", &interval_s_, "seconds between two readings; at least 2"}};
    }

    Outcome run(Session& session) override {
        if (session.wants_json())
            return Error{codes::usage, "'job watch' has no JSON output", "use 'det-submit job list --json'"};
        if (!(interval_s_ >= shortest_interval_s && interval_s_ <= longest_interval_s)) {
            return Error{codes::usage, fmt::format("--interval {} is not between {} and {} seconds",
                                                   interval_s_, shortest_interval_s, longest_interval_s)};
        }
        WatchView view;
        view.owner = experiment::experiment_job_owner(session);
        view.priority_kind = experiment::find_priority_kind(session);
        view.pool = pool_;
        view.user = user_;
        view.interval_s = interval_s_;
        DET_TRY_ASSIGN(auto terminal, ScreenTerminal::open(STDIN_FILENO, STDOUT_FILENO, "job watch",
                                                           "use 'det-submit job list' in pipes and scripts"));
        return watch_jobs(std::move(view), terminal, session, follow_logs);
    }

private:
    std::optional<std::string> pool_, user_;
    double interval_s_ = 3;
};

}  // namespace

ExitCode watch_jobs(WatchView view, ScreenTerminal& terminal, Session& session,
                    FollowFunction const& follow) {
    Watch watch(std::move(view), terminal, session, follow);
    return show_live(watch, terminal, session.clock);
}

std::unique_ptr<Command> make_job_watch() { return std::make_unique<JobWatch>(); }

}  // namespace det::cli
