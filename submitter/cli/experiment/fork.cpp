#include <det/experiment/open_experiment.hpp>
#include <det/experiment/root_directory.hpp>
#include <det/experiment/submission_request.hpp>
#include <det/experiment/trusted_owner.hpp>
#include <det/foundation/files.hpp>
#include <det/tracker/history/journal_history.hpp>

#include <fmt/format.h>

#include "command.hpp"
#include "config/standard_input.hpp"
#include "experiment/submit_experiment.hpp"
#include "output/load_interruptions.hpp"

namespace det::cli {
namespace {

class ExperimentFork final : public Command {
public:
    std::vector<Option> options() override {
        return {{"id", &id_, "the experiment", Need::required},
                {"--config", &overrides_, "key=value, over its configuration"},
                {"--config-file", &config_file_, "a configuration in place of its own, - for standard input"},
                {"--paused", &paused_, "its jobs wait for `experiment activate`"},
                {"--trust-owner", &trusted_owner_, "another user who may own the source checkpoint"},
                {"--dry-run", &dry_run_, "print the batch script, submit nothing"}};
    }

    Outcome run(Session& session) override {
        DET_TRY_ASSIGN(auto submission, request_for(session));
        return submit_experiment(submission, {dry_run_, false}, session);
    }

private:
    Result<experiment::SubmissionOptions> request_for(Session& session) const {
        DET_TRY_ASSIGN(auto const own, experiment::find_root(session.environment));
        auto const root = own.for_reading(session.places);
        DET_TRY_ASSIGN(auto const id, experiment::require_experiment_id(id_));
        DET_TRY_ASSIGN(auto const parent, session.open_journals(root)->load_experiment_without_trials(id));
        if (!parent.spec) {
            return Error{
                codes::wrong_state,
                fmt::format("experiment {} has no configuration: its creation was cut off", id.value)};
        }
        auto const layout = ExperimentLayout(root, id).at_revision(parent.revision());
        experiment::SubmissionOptions submission;
        DET_TRY_ASSIGN(submission.trusted_owner, experiment::find_trusted_owner(trusted_owner_));
        submission.sources = {config_file_.value_or(layout.config().string()), {}, overrides_};
        DET_TRY(read_config_if_stdin(submission.sources, session));
        submission.sources.secrets = layout.secrets();
        // They are not packed.
        auto const secrets = ExperimentLayout(root.experiment(id)).at_revision(parent.revision()).secrets();
        if (path_exists(secrets)) submission.sources.secrets = secrets;
        submission.packed_code = parent.spec->context;
        DET_TRY_ASSIGN(submission.recorded_script, experiment::load_recorded_script(layout, *parent.spec));
        submission.parent = id;
        submission.desired = paused_ ? DesiredState::pause : DesiredState::run;
        return submission;
    }

    std::string id_;
    std::vector<std::string> overrides_;
    std::optional<std::string> config_file_;
    std::optional<std::string> trusted_owner_;
    bool paused_ = false;
    bool dry_run_ = false;
};

}  // namespace

std::unique_ptr<Command> make_experiment_fork() { return std::make_unique<ExperimentFork>(); }

}  // namespace det::cli
