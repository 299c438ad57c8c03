#include <det/experiment/open_experiment.hpp>
#include <det/experiment/root_directory.hpp>
#include <det/protocol/json.hpp>

#include <algorithm>
#include <fmt/format.h>

#include "command.hpp"
#include "experiment/interrupt_notice.hpp"
#include "experiment/live_status.hpp"
#include "output/load_interruptions.hpp"

namespace det::cli {
namespace {

using lifecycle::State;

class ExperimentWait final : public Command {
public:
    std::vector<Option> options() override {
        return {{"id", &id_, "the experiment", Need::required},
                {"--timeout", &timeout_seconds_, "give up after so many seconds; 0: never"},
                {"--polling-interval", &interval_seconds_, "seconds between two readings of the state"}};
    }

    Outcome run(Session& session) override {
        DET_TRY_ASSIGN(auto view, wait(session));
        if (session.wants_json()) session.answer(to_json(view));
        if (view.state == State::completed) return ExitCode::done;
        return Error{codes::experiment_failed,
                     fmt::format("experiment {} ended as {}", view.record.id.value, to_string(view.state)),
                     fmt::format("see 'det-submit experiment describe {}'", view.record.id.value)};
    }

private:
    Result<tracker::history::ExperimentView> wait(Session& session) const {
        DET_TRY_ASSIGN(auto const root, experiment::find_shown_root(session));
        DET_TRY_ASSIGN(auto const id, experiment::require_experiment_id(id_));
        if (!(timeout_seconds_ >= 0)) {
            return Error{codes::usage, fmt::format("--timeout {}: a time is not negative", timeout_seconds_)};
        }
        if (!(interval_seconds_ > 0))
            return Error{codes::usage,
                         fmt::format("--polling-interval {}: it is positive", interval_seconds_)};
        experiment::ExperimentPoller poller(root, id, session);
        auto const begin = session.clock.steady_now();
        LiveStatus status(root, id, LiveStatus::Answer::none, session);
        InterruptNotice const notice(id, fmt::format("experiment wait {}", id.value), session);
        for (;;) {
            auto const now = session.clock.steady_now();
            DET_TRY_ASSIGN(auto view, poller.poll());
            status.update(view);
            if (experiment::is_settled(view.state)) {
                status.print_result(view);
                return view;
            }
            if (timeout_seconds_ > 0 && now - begin >= std::chrono::duration<double>(timeout_seconds_)) {
                return Error{codes::timed_out, fmt::format("experiment {} is still {} after {} s", id.value,
                                                           to_string(view.state), timeout_seconds_)};
            }
            session.clock.sleep_for(time_to_next_poll(now - begin));
        }
    }

    /// \param waited time from the beginning to the last poll; the timeout may come before the next interval
    /// ends
    std::chrono::milliseconds time_to_next_poll(std::chrono::duration<double> waited) const {
        auto seconds = std::min(interval_seconds_, interval_max_seconds);
        if (timeout_seconds_ > 0) seconds = std::clamp(timeout_seconds_ - waited.count(), 0.001, seconds);
        return std::chrono::ceil<std::chrono::milliseconds>(std::chrono::duration<double>(seconds));
    }

    std::string id_;
    static constexpr double interval_max_seconds = 3600;
    double timeout_seconds_ = 0, interval_seconds_ = 0.5;
};

}  // namespace

std::unique_ptr<Command> make_experiment_wait() { return std::make_unique<ExperimentWait>(); }

}  // namespace det::cli
