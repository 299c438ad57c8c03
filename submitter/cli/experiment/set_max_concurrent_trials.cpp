#include <det/experiment/control_experiment.hpp>
#include <det/foundation/text.hpp>
#include <det/protocol/json.hpp>

#include <fmt/format.h>

#include "command.hpp"

namespace det::cli {
namespace {

class ExperimentSetMaxConcurrentTrials final : public Command {
public:
    std::vector<Option> options() override {
        return {{"id", &id_, "the experiment", Need::required},
                {"max-concurrent-trials", &max_trials_, "trials at once", Need::required}};
    }

    Outcome run(Session& session) override {
        auto const trials = parse_integer<std::uint32_t>(max_trials_);
        if (!trials) return Error{codes::usage, fmt::format("'{}' is not a number of trials", max_trials_)};
        DET_TRY_ASSIGN(auto const id, experiment::limit_concurrent_trials(id_, *trials, session));
        session.print_confirmation(
            Json{{"id", id.value}, {"max_concurrent_trials", *trials}},
            fmt::format("Set max-concurrent-trials of experiment {} to {}", id.value, *trials));
        return ExitCode::done;
    }

private:
    std::string id_, max_trials_;
};

}  // namespace

std::unique_ptr<Command> make_experiment_set_max_concurrent_trials() {
    return std::make_unique<ExperimentSetMaxConcurrentTrials>();
}

}  // namespace det::cli
