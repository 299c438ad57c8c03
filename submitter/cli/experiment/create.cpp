#include <det/experiment/remote_submission.hpp>
#include <det/experiment/root_directory.hpp>
#include <det/experiment/running_job.hpp>
#include <det/experiment/submission_request.hpp>
#include <det/experiment/trusted_owner.hpp>
#include <det/protocol/json.hpp>
#include <det/protocol/task_identity.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <iterator>

#include "command.hpp"
#include "config/standard_input.hpp"
#include "experiment/create_on_host.hpp"
#include "experiment/start_times.hpp"
#include "experiment/submit_experiment.hpp"
#include "experiment/test_locally.hpp"

namespace det::cli {
namespace {

class ExperimentCreate final : public Command {
public:
    std::vector<Option> options() override {
        return {
            {"config", &config_, "the configuration file, - for standard input, or a batch script"},
            {"context", &words_, "the directory that holds the code, or the arguments of the batch script"},
            {"-i,--include", &includes_, "a file or directory to pack in addition to the context"},
            {"--template", &template_, "a configuration template"},
            {"--config", &overrides_, "key=value, overrides the file"},
            {"--paused", &paused_, "its jobs wait for `experiment activate`"},
            {"-f,--follow-first-trial", &follow_, "print the output of the first trial until it has ended"},
            {"-t,--test,--test-mode", &test_, "one short trial, followed"},
            {"--local", &is_local_, "with --test: train and validate one batch here, without a job"},
            {"-p,--publish", &ports_, "no effect: ports of jobs are not published"},
            {"--project_id,--project-id", &project_, "no effect: there are no projects"},
            {"--when", &when_, "print when trials of several sizes would start, submit nothing"},
            {"--trust-owner", &trusted_owner_, "another user who may own the source checkpoint"},
            {"--dry-run", &dry_run_, "print the batch script, submit nothing"},
            {"--host", &host_, "pack here, and submit on this login node by ssh"},
            {"--receive", &receives_,
             "read configuration and code from standard input, as --host sends them"},
            {"--running-job", &is_running_job_, "of the job in which it is called, for 'det-launch script'"}};
    }

    std::string hint_for_unknown_option() const override {
        return "the arguments of a batch script stand after its name";
    }

    /// As with sbatch, all words after a batch script are its arguments.
    std::vector<std::string>* words_of_program(std::string const& argument) override {
        experiment::ConfigSources sources;
        sources.file = argument;
        return experiment::names_batch_script(sources) ? &script_arguments_ : nullptr;
    }

    Outcome run(Session& session) override {
        DET_TRY(check_options());
        experiment::SubmissionOptions submission;
        submission.sources = {config_.value_or(""), template_, overrides_};
        submission.code.includes.assign(includes_.begin(), includes_.end());
        submission.desired = paused_ ? DesiredState::pause : DesiredState::run;
        submission.sources.is_test = test_;
        DET_TRY(read_config_if_stdin(submission.sources, session));
        if (is_running_job_) return record_running_job(std::move(submission), session);
        DET_TRY(take_words(submission));
        warn_about_own_options(session);
        warn_about_ignored(session);
        if (is_local_) return test_locally(submission, session);
        if (host_) return create_on_host(*host_, submission, options_for_host(session), session);
        DET_TRY_ASSIGN(submission.trusted_owner, experiment::find_trusted_owner(trusted_owner_));
        if (receives_) DET_TRY(receive(submission, session));
        if (when_) return print_start_times(submission, session);
        return submit_experiment(submission, {dry_run_, follow_}, session);
    }

private:
    Status check_options() const {
        if (is_local_ && !test_)
            return Error{
                codes::usage, "--local needs --test: trials train in jobs of Slurm only",
                "a script that uses the Core API or Trainer also runs by itself, without det-submit"};
        if (is_local_ &&
            (receives_ || host_ || when_ || dry_run_ || paused_ || is_running_job_ || !includes_.empty()))
            return Error{codes::usage,
                         "--local --test takes the configuration, the directory of the code, "
                         "--config and --template"};
        if (!config_ && !receives_)
            return Error{codes::usage, "config is required", "see 'det-submit experiment create --help'"};
        if (receives_ && (config_ || !words_.empty() || host_ || !includes_.empty()))
            return Error{codes::usage, "--receive takes the configuration and the code from standard input"};
        if (is_running_job_ && (!config_ || receives_ || host_ || when_ || dry_run_ || paused_ || follow_ ||
                                test_ || !includes_.empty()))
            return Error{codes::usage, "--running-job takes a script, --config and --template",
                         "'det-launch script' calls it"};
        if (paused_ && (follow_ || test_))
            return Error{codes::usage, "a paused experiment has no output to follow",
                         "leave out --paused, or -f and --test"};
        return Ok{};
    }

    /// Prints what the job is to execute.
    Outcome record_running_job(experiment::SubmissionOptions submission, Session& session) const {
        submission.sources.script_arguments = script_arguments_.empty() ? words_ : script_arguments_;
        DET_TRY_ASSIGN(auto const job, experiment::record_running_job(std::move(submission), session));
        session.answer(Json{{"command", job.command}, {"path", job.experiment.string()}},
                       job.experiment.string() + "\n");
        return ExitCode::done;
    }

    /// The words after the configuration are the directory of the code; those after a batch script are its
    /// arguments. `-` may be a batch script too.
    Status take_words(experiment::SubmissionOptions& submission) const {
        if (!config_) return Ok{};
        if (experiment::names_batch_script(submission.sources)) {
            submission.sources.script_arguments = script_arguments_.empty() ? words_ : script_arguments_;
            return check_script_options();
        }
        if (words_.size() > 1)
            return Error{codes::usage, fmt::format("there is an argument too many: '{}'", words_[1])};
        if (!words_.empty()) submission.code.directory = words_.front();
        return Ok{};
    }

    Status check_script_options() const {
        if (host_)
            return Error{codes::usage,
                         "--host sends a configuration and its code: a batch script runs where it is",
                         "submit it on the login node"};
        if (when_)
            return Error{codes::usage,
                         "--when asks for several sizes, and a batch script has the size of its header",
                         "'sbatch --test-only' says when it would start"};
        return Ok{};
    }

    /// Warns about words that the script gets, although they look like options of this command.
    void warn_about_own_options(Session const& session) const {
        constexpr std::string_view own[] = {"--paused", "--dry-run", "--follow-first-trial", "--template",
                                            "--json"};
        constexpr std::string_view config = "--config";
        for (std::size_t i = 0; i < script_arguments_.size(); ++i) {
            std::string_view const word = script_arguments_[i];
            auto const value = i + 1 < script_arguments_.size() ? script_arguments_[i + 1] : std::string();
            bool const sets_key = (word == config && value.find('=') != std::string::npos) ||
                                  (word.starts_with(config) && word.find('=') == config.size() &&
                                   word.find('=', config.size() + 1) != std::string_view::npos);
            if (sets_key || std::ranges::find(own, word) != std::end(own))
                session.warn({codes::usage, fmt::format("'{}' is an argument of the batch script", word),
                              "options of det-submit stand before the script's name, as with sbatch"});
        }
    }

    void warn_about_ignored(Session const& session) const {
        if (!ports_.empty())
            session.warn({codes::usage,
                          "--publish has no effect: the ports of a job can be reached on its nodes",
                          "reach them with 'ssh -L', where the site allows it"});
        if (project_)
            session.warn({codes::usage, "--project_id has no effect: there are no projects",
                          "label the experiment: 'det-submit experiment label add'"});
    }

    /// The options of this command line that det-submit on the login node gets.
    std::vector<std::string> options_for_host(Session const& session) const {
        std::vector<std::string> options;
        if (template_) options.push_back("--template=" + *template_);
        for (auto const& each : overrides_) options.push_back("--config=" + each);
        if (trusted_owner_) options.push_back("--trust-owner=" + *trusted_owner_);
        auto const add = [&](bool is_set, char const* option) {
            if (is_set) options.emplace_back(option);
        };
        add(paused_, "--paused");
        add(follow_, "--follow-first-trial");
        add(test_, "--test");
        add(when_, "--when");
        add(dry_run_, "--dry-run");
        add(session.wants_json(), "--json");
        if (session.has_named_root)
            options.push_back("--root=" + session.environment.find(variables::root).value_or(""));
        return options;
    }

    static Status receive(experiment::SubmissionOptions& submission, Session& session) {
        if (session.in == nullptr) return Error{codes::usage, "there is no standard input"};
        DET_TRY_ASSIGN(auto const root, experiment::find_root(session.environment));
        DET_TRY_ASSIGN(auto received, experiment::receive_submission(*session.in, root));
        submission.sources.file = received.config_name;
        submission.sources.text = std::move(received.config_text);
        submission.packed_code = std::move(received.code);
        return Ok{};
    }

    std::optional<std::string> config_, template_, project_, host_, trusted_owner_;
    std::vector<std::string> words_, script_arguments_, includes_, overrides_, ports_;
    bool paused_ = false;
    bool follow_ = false;
    bool test_ = false, is_local_ = false;
    bool when_ = false;
    bool dry_run_ = false;
    bool receives_ = false;
    bool is_running_job_ = false;
};

}  // namespace

std::unique_ptr<Command> make_experiment_create() { return std::make_unique<ExperimentCreate>(); }

}  // namespace det::cli
