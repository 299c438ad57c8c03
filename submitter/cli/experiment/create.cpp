#include <det/experiment/prepare_submission.hpp>

#include "command.hpp"
#include "experiment/submit_experiment.hpp"

namespace det::cli {
namespace {

class ExperimentCreate final : public Command {
public:
    std::vector<Option> options() override {
        return {
            {"config", &config_, "the configuration file", Need::required},
            {"context", &context_, "the directory that holds the code"},
            {"-i,--include", &includes_, "a file or directory to pack in addition to the context"},
            {"--template", &template_, "a configuration template"},
            {"--config", &overrides_, "key=value, overrides the file"},
            {"--paused", &paused_, "its jobs wait for `experiment activate`"},
            {"-f,--follow-first-trial", &follow_, "print the output of the first trial until it has ended"},
            {"-t,--test,--test-mode", &test_, "one short trial, followed"},
            {"--dry-run", &dry_run_, "print the batch script, submit nothing"}};
    }

    Outcome run(Session& session) override {
        if (paused_ && (follow_ || test_)) {
            return Error{codes::usage, "a paused experiment has no output to follow",
                         "leave out --paused, or -f and --test"};
        }
        experiment::SubmissionOptions submission;
        submission.sources = {config_, template_, overrides_};
        if (context_) submission.code.directory = *context_;
        submission.code.includes.assign(includes_.begin(), includes_.end());
        submission.desired = paused_ ? DesiredState::pause : DesiredState::run;
        submission.is_test = test_;
        return submit_experiment(submission, {dry_run_, follow_}, session);
    }

private:
    std::string config_;
    std::optional<std::string> context_;
    std::vector<std::string> includes_;
    std::optional<std::string> template_;
    std::vector<std::string> overrides_;
    bool paused_ = false;
    bool follow_ = false;
    bool test_ = false;
    bool dry_run_ = false;
};

}  // namespace

std::unique_ptr<Command> make_experiment_create() { return std::make_unique<ExperimentCreate>(); }

}  // namespace det::cli
