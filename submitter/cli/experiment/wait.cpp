#include <det/experiment/open_experiment.hpp>
#include <det/experiment/root_directory.hpp>
#include <det/protocol/json.hpp>

#include <fmt/format.h>

#include "command.hpp"
#include "experiment/progress_line.hpp"
#include "output/load_interruptions.hpp"

namespace det::cli {
namespace {

using lifecycle::State;

class ExperimentWait final : public Command {
public:
    std::vector<Option> options() override {
        return {{"id", &id_, "the experiment", Need::required},
                {"--timeout", &timeout_seconds_, "give up after so many seconds; 0: never"}};
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
        DET_TRY_ASSIGN(auto const root, experiment::find_root(session.environment));
        DET_TRY_ASSIGN(auto const id, experiment::require_experiment_id(id_));
        if (!(timeout_seconds_ >= 0)) {
            return Error{codes::usage, fmt::format("--timeout {}: a time is not negative", timeout_seconds_)};
        }
        experiment::ExperimentPoller poller(root, id, session);
        auto const begin = session.clock.steady_now();
        std::optional<State> told;
        ProgressLine progress(root, id, session);
        for (;;) {
            auto const now = session.clock.steady_now();
            DET_TRY_ASSIGN(auto view, poller.poll());
            if (view.state != told) {
                progress.clear();
                session.say(fmt::format("experiment {}: {}", id.value, to_string(view.state)));
            }
            told = view.state;
            if (experiment::is_settled(view.state)) return view;
            if (timeout_seconds_ > 0 && now - begin >= std::chrono::duration<double>(timeout_seconds_)) {
                return Error{codes::timed_out, fmt::format("experiment {} is still {} after {} s", id.value,
                                                           to_string(view.state), timeout_seconds_)};
            }
            progress.update();
            poller.sleep_until_next_poll();
        }
    }

    std::string id_;
    double timeout_seconds_ = 0;
};

}  // namespace

std::unique_ptr<Command> make_experiment_wait() { return std::make_unique<ExperimentWait>(); }

}  // namespace det::cli
