#include <det/foundation/process.hpp>
#include <det/launch/launchers/monitor_launch.hpp>

#include <algorithm>
#include <cerrno>
#include <fmt/format.h>
#include <list>
#include <optional>
#include <unistd.h>

#include "child.hpp"
#include "worker_registry.hpp"

namespace det::launch::launchers {
namespace {

using Time = std::chrono::steady_clock::time_point;

/// A launch from its first process to its last.
class Launch {
public:
    Launch(WorkerRegistry registry, ForwardedSignals signals, Clock const& clock,
           MonitorOptions const& options)
        : registry_(std::move(registry)), signals_(std::move(signals)), clock_(clock), options_(options) {}

    Status start(launchers::LaunchPlan const& plan) {
        facts_.remote_failure_counts = plan.fails_with_remote_commands;
        for (auto const& process : plan.processes) {
            auto environment = process.environment;
            environment.set(socket_variable, registry_.path());
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
            registry_.process_messages(facts_);
            reap();
            // A worker sends its exit code before its launcher ends, but possibly after the read above.
            registry_.process_messages(facts_);
            act();
        }
        auto const outcome = launch_outcome(facts_);
        if (outcome.exit_code != 0) options_.on_failure(outcome);
        if (!outcome.reason.empty()) options_.log(outcome.reason);
        return outcome.exit_code;
    }

private:
    enum class Stage { running, grace, ending, over };

    bool is_going_on() const {
        return stage_ != Stage::over && (!children_.empty() || registry_.connected() > 0);
    }

    Status wait() {
        std::vector<pollfd> polled{{signals_.fd(), POLLIN, 0}};
        registry_.add_to(polled);
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

    /// Moves to the next stage if something failed or the time of the stage is over.
    void act() {
        bool const has_failed = facts_.first_failure || facts_.disconnected || facts_.launcher_exit != 0 ||
                                (facts_.remote_failure && facts_.remote_failure_counts);
        bool const is_without_launcher = children_.empty() && registry_.connected() > 0;
        if (stage_ == Stage::running && (has_failed || is_without_launcher)) {
            go_to(Stage::grace, options_.grace);
            if (facts_.first_failure) options_.on_failure(launch_outcome(facts_));
        }
        if (stage_ == Stage::ending) registry_.disconnect_all();  // workers that connected late
        if (!deadline_ || clock_.steady_now() < *deadline_) return;
        if (stage_ == Stage::grace) {
            if (children_.empty()) facts_.unfinished = registry_.connected();
            if (registry_.connected() > 0)
                options_.log(fmt::format("ending {} workers", registry_.connected()));
            registry_.disconnect_all();
            go_to(Stage::ending, options_.kill_timeout);
        } else {
            stage_ = Stage::over;  // the destructor kills the children
        }
    }

    void go_to(Stage stage, std::chrono::milliseconds time) {
        stage_ = stage;
        deadline_ = clock_.steady_now() + time;
    }

    WorkerRegistry registry_;
    ForwardedSignals signals_;
    Clock const& clock_;
    MonitorOptions const& options_;
    std::list<Child> children_;
    LaunchFacts facts_;
    Stage stage_ = Stage::running;
    std::optional<Time> deadline_;
};

}  // namespace

Result<int> monitor_launch(launchers::LaunchPlan const& plan, std::filesystem::path const& run_dir,
                           Clock const& clock, MonitorOptions const& options) {
    DET_TRY_ASSIGN(auto registry, WorkerRegistry::open(run_dir / fmt::format("workers-{}", ::getpid())));
    DET_TRY_ASSIGN(auto signals, ForwardedSignals::take());
    Launch launch(std::move(registry), std::move(signals), clock, options);
    DET_TRY(launch.start(plan));
    return launch.watch();
}

}  // namespace det::launch::launchers
