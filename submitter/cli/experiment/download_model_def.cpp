#include <det/experiment/open_experiment.hpp>
#include <det/experiment/root_directory.hpp>
#include <det/foundation/executable.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/process.hpp>
#include <det/foundation/text.hpp>
#include <det/protocol/json.hpp>
#include <det/tracker/history/journal_history.hpp>

#include <fmt/format.h>

#include "command.hpp"
#include "output/view_json.hpp"

namespace det::cli {
namespace {

constexpr std::chrono::seconds unpack_timeout{300};

class ExperimentDownloadModelDef final : public Command {
public:
    std::vector<Option> options() override {
        return {{"id", &id_, "the experiment", Need::required},
                {"-o,--output-dir", &output_, "the directory to create; default: experiment_ID"}};
    }

    Outcome run(Session& session) override {
        DET_TRY_ASSIGN(auto const root, experiment::find_root(session.environment));
        DET_TRY_ASSIGN(auto const id, experiment::require_experiment_id(id_));
        DET_TRY_ASSIGN(auto const record, tracker::history::JournalHistory(root).load_experiment(id));
        if (!record.spec || !record.spec->context) {
            return Error{codes::no_such_file,
                         fmt::format("experiment {} was created without code", id.value)};
        }
        std::filesystem::path const target = output_.value_or(fmt::format("experiment_{}", id.value));
        DET_TRY_ASSIGN(bool const is_new, make_directory(target));
        if (!is_new) {
            return Error{codes::name_taken, fmt::format("'{}' exists already", target.string()),
                         "name another directory with --output-dir"};
        }
        auto const& sha256 = record.spec->context->sha256;
        if (auto unpacked = unpack(root.context(sha256), sha256, target); !unpacked) {
            (void)remove_tree(target);
            return std::move(unpacked).error().while_doing(
                fmt::format("unpacking the code of experiment {}", id.value));
        }
        session.answer(Json{{"id", id.value}, {"path", std::filesystem::absolute(target).string()}},
                       target.string() + '\n');
        return ExitCode::done;
    }

private:
    /// Unpacks the archive with det-launch, as jobs do. Linking libarchive and its dependencies would slow
    /// down every start of det-submit.
    static Status unpack(std::filesystem::path const& archive, std::string const& sha256,
                         std::filesystem::path const& target) {
        SystemProcessRunner runner;
        DET_TRY_ASSIGN(auto const output,
                       runner.run({{sibling_program("det-launch"), "unpack-context", "--archive", archive,
                                    "--sha256", sha256, "--directory", target},
                                   Environment(),
                                   unpack_timeout}));
        if (output.exit_code == 0) return Ok{};
        return Error{codes::damaged, "the stored code cannot be unpacked"}.noting(
            std::string(trim(output.err)));
    }

    std::string id_;
    std::optional<std::string> output_;
};

}  // namespace

std::unique_ptr<Command> make_experiment_download_model_def() {
    return std::make_unique<ExperimentDownloadModelDef>();
}

}  // namespace det::cli
