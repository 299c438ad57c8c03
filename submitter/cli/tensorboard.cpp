#include <det/experiment/open_experiment.hpp>
#include <det/experiment/root_directory.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/find_program.hpp>
#include <det/foundation/list_numeric_names.hpp>
#include <det/foundation/process.hpp>
#include <det/foundation/text.hpp>
#include <det/protocol/json.hpp>
#include <det/tracker/history/journal_history.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <ostream>

#include "command.hpp"

namespace det::cli {
namespace {

/// What TensorBoard shows: the files below a directory, under a name.
struct LogDirectory {
    std::string name;
    std::filesystem::path path;
};

bool has_event_files(ExperimentLayout const& experiment) {
    auto const trials = list_numeric_names(experiment.trials());
    return trials && std::ranges::any_of(*trials, [&](std::uint32_t trial) {
               return path_exists(experiment.trial(trial).tensorboard());
           });
}

class TensorBoard final : public Command {
public:
    std::vector<Option> options() override {
        return {{"id", &words_, "the experiments", Need::optional},
                {"-t,--trial-ids", &trials_, "only this trial; may be repeated"}};
    }

    std::vector<std::string_view> own_words() const override { return {"start"}; }

    Outcome run(Session& session) override {
        if (!words_.empty() && words_.front() == "start") words_.erase(words_.begin());  // of Determined
        if (words_.empty() && trials_.empty())
            return Error{codes::usage, "an experiment or a trial is missing",
                         "see 'det-submit tensorboard --help'"};
        DET_TRY_ASSIGN(auto const root, experiment::find_shown_root(session));
        std::vector<LogDirectory> directories;
        for (auto const& word : words_) DET_TRY(add_experiment(root, word, directories, session));
        for (auto const& trial : trials_) DET_TRY(add_trial(root, trial, directories, session));
        auto const command = command_for(directories);
        std::vector<std::string> quoted;
        for (auto const& word : command) quoted.push_back(quote_for_shell(word));
        auto json = Json{{"command", command}, {"directories", Json::array()}};
        for (auto const& [name, path] : directories)
            json["directories"].push_back({{"name", name}, {"path", path.string()}});
        session.answer(json, join(quoted, " ") + '\n');
        return session.wants_json() ? Outcome(ExitCode::done) : start(command, session);
    }

private:
    /// Replaces this process by TensorBoard if it is installed here, so that it does not outlive this
    /// command.
    static Outcome start(std::vector<std::string> command, Session& session) {
        auto const program = find_program(command.front(), session.environment);
        if (!program) {
            session.say(
                "TensorBoard is not in PATH here: activate the environment that has it, or run this command "
                "elsewhere");
            return ExitCode::done;
        }
        session.say(
            "other users of this host can open TensorBoard's port: it has no password; Ctrl-C ends it");
        session.out.flush();
        command.front() = program->string();
        return replace_process(command, session.environment);
    }

    static void warn_if_empty(bool has_files, std::string const& what, Session const& session) {
        if (has_files) return;
        session.warn({codes::no_such_file, fmt::format("{} has no event files so far", what),
                      "set 'slurm: {tensorboard: true}', or write them by 'det-tracker export ID --format "
                      "tensorboard'"});
    }

    static Status add_experiment(RootLayout const& root, std::string const& word,
                                 std::vector<LogDirectory>& directories, Session& session) {
        DET_TRY_ASSIGN(auto const id, experiment::require_experiment_id(word));
        DET_TRY(session.open_journals(root)->load_experiment_without_trials(id));
        ExperimentLayout const layout(root, id);
        warn_if_empty(has_event_files(layout), "experiment " + to_string(id), session);
        directories.push_back({to_string(id), layout.trials()});
        return Ok{};
    }

    static Status add_trial(RootLayout const& root, std::string const& word,
                            std::vector<LogDirectory>& directories, Session& session) {
        DET_TRY_ASSIGN(auto const id, experiment::require_trial_id(word));
        DET_TRY_ASSIGN(auto const record,
                       session.open_journals(root)->load_experiment_without_trials(id.experiment));
        if (id.index >= record.trial_count()) return tracker::history::no_such_trial(id);
        auto const path = ExperimentLayout(root, id.experiment).trial(id.index).tensorboard();
        warn_if_empty(path_exists(path), "trial " + to_string(id), session);
        directories.push_back({to_string(id), path});
        return Ok{};
    }

    /// TensorBoard on a port of this host that only programs on it reach.
    static std::vector<std::string> command_for(std::vector<LogDirectory> const& directories) {
        std::vector<std::string> command{"tensorboard", "--host", "127.0.0.1"};
        if (directories.size() == 1) {
            command.insert(command.end(), {"--logdir", directories.front().path.string()});
            return command;
        }
        std::vector<std::string> named;
        for (auto const& [name, path] : directories) named.push_back(name + ":" + path.string());
        command.insert(command.end(), {"--logdir_spec", join(named, ",")});
        return command;
    }

    std::vector<std::string> words_, trials_;
};

}  // namespace

std::unique_ptr<Command> make_tensorboard() { return std::make_unique<TensorBoard>(); }

}  // namespace det::cli
