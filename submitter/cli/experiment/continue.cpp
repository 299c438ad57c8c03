#include <det/experiment/continue_experiment.hpp>
#include <det/experiment/control_experiment.hpp>
#include <det/experiment/find_checkpoint.hpp>
#include <det/experiment/root_directory.hpp>
#include <det/foundation/count_text.hpp>
#include <det/protocol/json.hpp>

#include <fmt/format.h>

#include "command.hpp"
#include "experiment/accept_damage_option.hpp"
#include "experiment/submit_experiment.hpp"

namespace det::cli {
namespace {

class ExperimentContinue final : public Command {
public:
    std::vector<Option> options() override {
        return {{"id", &id_, "the experiment", Need::required},
                {"changes", &changes_, "a file with what is to change of its configuration"},
                {"--config-file", &config_file_, "the same, as Determined has it"},
                {"--config", &overrides_, "key=value, over its configuration"},
                {"-f,--follow-first-trial", &follow_,
                 "print the output of the first of its trials until that has ended"},
                accept_damage_option(&accepts_damage_)};
    }

    Outcome run(Session& session) override {
        if (accepts_damage_) DET_TRY(experiment::accept_journal_damage(id_, session));
        if (changes_ && config_file_) return Error{codes::usage, "two files with changes", "use one"};
        experiment::ContinueOptions options{id_, {}, overrides_};
        if (changes_) options.changes = *changes_;
        if (config_file_) options.changes = *config_file_;
        DET_TRY_ASSIGN(auto const continued, experiment::continue_experiment(options, session));
        print_answer(continued, session);
        if (!follow_) return ExitCode::done;
        DET_TRY_ASSIGN(auto const root, experiment::find_root(session.environment));
        return follow_submitted_trial(root, {continued.experiment.id(), continued.trials.front()}, session);
    }

private:
    static void print_answer(experiment::ContinuedExperiment const& continued, Session& session) {
        auto const id = continued.experiment.id();
        std::vector<std::string> trials, jobs;
        for (auto const trial : continued.trials) trials.push_back(to_string(TrialId{id, trial}));
        for (auto const& array : continued.arrays) jobs.push_back(std::to_string(array.job));
        if (session.wants_json()) {
            return session.answer(Json{{"id", id.value},
                                       {"revision", continued.revision},
                                       {"trials", trials},
                                       {"job_ids", jobs},
                                       {"changes", to_json(continued.changes)}});
        }
        for (auto const& change : continued.changes) session.say(describe(change));
        for (auto const trial : find_trials_without_checkpoint(continued, session.environment))
            session.say(fmt::format("trial {} has no checkpoint: it starts from the beginning",
                                    to_string(TrialId{id, trial})));
        session.say(fmt::format("Continued experiment {}", id.value));
        session.say(fmt::format("{} {} in job {}; follow it with 'det-submit experiment wait {}'",
                                plural("trial", trials.size()), fmt::join(trials, ", "),
                                fmt::join(jobs, ", "), id.value));
    }

    std::string id_;
    bool accepts_damage_ = false, follow_ = false;
    std::optional<std::string> changes_, config_file_;
    std::vector<std::string> overrides_;
};

}  // namespace

std::unique_ptr<Command> make_experiment_continue() { return std::make_unique<ExperimentContinue>(); }

}  // namespace det::cli
