#include <det/foundation/process.hpp>
#include <det/launch/launchers/watch_launch.hpp>

#include <algorithm>
#include <cerrno>
#include <fmt/format.h>
#include <list>
#include <optional>
#include <unistd.h>

#include "child.hpp"
#include "roll.hpp"

namespace det::launch::launchers {
namespace {

using Time = std::chrono::steady_clock::time_point;

/// A launch from its first process to its last.
class Launch {
public:
    Launch(Roll roll, TakenSignals signals, Clock const& clock, WatchOptions const& options)
        : roll_(std::move(roll)), signals_(std::move(signals)), clock_(clock), options_(options) {}

    Status start(launchers::LaunchPlan const& plan) {
        facts_.is_share_remote = plan.fails_with_remote_commands;
        for (auto const& process : plan.processes) {
            auto environment = process.environment;
            environment.set(socket_variable, roll_.path());
            DET_TRY_ASSIGN(auto child,
                           Child::start(process.argv, environment, signals_.mask_before(), Group::own));
            children_.push_back(std::move(child));
        }
        return Ok{};
    }

    Result<int> watch() {
        while (is_going_on()) {
            DET_TRY(wait());
            for (int const number : signals_.read()) {
                for (auto& child : children_) child.signal(number);
            }
            roll_.take_in(facts_);
            reap();
            // A worker's last word comes before its launcher's end, but perhaps not before we looked.
            roll_.take_in(facts_);
            act();
        }
        auto const verdict = judge_launch(facts_);
        if (verdict.exit_code != 0) options_.on_failure(verdict);
        if (!verdict.reason.empty()) options_.say(verdict.reason);
        return verdict.exit_code;
    }

private:
    enum class Stage { running, grace, ending, over };

    bool is_going_on() const { return stage_ != Stage::over && (!children_.empty() || roll_.present() > 0); }

    Status wait() {
        std::vector<pollfd> polled{{signals_.fd(), POLLIN, 0}};
        roll_.add_to(polled);
        for (auto const& child : children_) polled.push_back({child.pidfd(), POLLIN, 0});
        int timeout_ms = -1;
        if (deadline_) {
            auto const left = std::chrono::ceil<std::chrono::milliseconds>(*deadline_ - clock_.steady_now());
            timeout_ms = static_cast<int>(std::max<std::int64_t>(0, left.count()));
        }
        if (::poll(polled.data(), polled.size(), timeout_ms) < 0 && errno != EINTR) {
            return os_error("wait", errno);
        }
        return Ok{};
    }

    void reap() {
        for (auto child = children_.begin(); child != children_.end();) {
            auto const status = child->poll_status();
            if (!status) {
                ++child;
                continue;
            }
            facts_.launcher_exit = std::max(facts_.launcher_exit, exit_code_of_wait_status(*status));
            child = children_.erase(child);
        }
    }

    /// One step nearer to the end, where something failed or time has run out.
    void act() {
        bool const has_failed = facts_.first_failure || facts_.vanished || facts_.launcher_exit != 0 ||
                                (facts_.remote_failure && facts_.is_share_remote);
        bool const is_headless = children_.empty() && roll_.present() > 0;
        if (stage_ == Stage::running && (has_failed || is_headless)) {
            go_to(Stage::grace, options_.grace);
            if (facts_.first_failure) options_.on_failure(judge_launch(facts_));
        }
        if (stage_ == Stage::ending) roll_.dismiss();  // those that came late
        if (!deadline_ || clock_.steady_now() < *deadline_) return;
        if (stage_ == Stage::grace) {
            if (children_.empty()) facts_.unfinished = roll_.present();
            if (roll_.present() > 0) options_.say(fmt::format("ending {} workers", roll_.present()));
            roll_.dismiss();
            go_to(Stage::ending, options_.patience);
        } else {
            stage_ = Stage::over;  // the children are killed with this object
        }
    }

    void go_to(Stage stage, std::chrono::milliseconds time) {
        stage_ = stage;
        deadline_ = clock_.steady_now() + time;
    }

    Roll roll_;
    TakenSignals signals_;
    Clock const& clock_;
    WatchOptions const& options_;
    std::list<Child> children_;
    LaunchFacts facts_;
    Stage stage_ = Stage::running;
    std::optional<Time> deadline_;
};

}  // namespace

Result<int> watch_launch(launchers::LaunchPlan const& plan, std::filesystem::path const& run_dir,
                         Clock const& clock, WatchOptions const& options) {
    DET_TRY_ASSIGN(auto roll, Roll::open(run_dir / fmt::format("workers-{}", ::getpid())));
    DET_TRY_ASSIGN(auto signals, TakenSignals::take());
    Launch launch(std::move(roll), std::move(signals), clock, options);
    DET_TRY(launch.start(plan));
    return launch.watch();
}

}  // namespace det::launch::launchers
