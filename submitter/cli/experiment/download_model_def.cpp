#include <det/experiment/open_experiment.hpp>
#include <det/experiment/root_directory.hpp>
#include <det/foundation/executable.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/foreign_tree.hpp>
#include <det/foundation/process.hpp>
#include <det/foundation/text.hpp>
#include <det/foundation/trusted_file.hpp>
#include <det/protocol/json.hpp>
#include <det/tracker/history/journal_history.hpp>

#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <stdio.h>
#include <unistd.h>

#include "command.hpp"
#include "output/load_interruptions.hpp"

namespace det::cli {
namespace {

constexpr std::chrono::seconds unpack_timeout{300};

class ExperimentDownloadModelDef final : public Command {
public:
    std::vector<Option> options() override {
        return {{"id", &id_, "the experiment", Need::required},
                {"-o,--output-dir", &output_, "the directory to unpack into; default: experiment_ID"}};
    }

    Outcome run(Session& session) override {
        DET_TRY_ASSIGN(auto const root, experiment::find_shown_root(session));
        DET_TRY_ASSIGN(auto const id, experiment::require_experiment_id(id_));
        DET_TRY_ASSIGN(auto const record, session.open_journals(root)->load_experiment_without_trials(id));
        if (!record.spec || !record.spec->context) {
            return Error{codes::no_such_file,
                         fmt::format("experiment {} was created without code", id.value)};
        }
        std::filesystem::path const target = output_.value_or(fmt::format("experiment_{}", id.value));
        DET_TRY_ASSIGN(bool const is_new, make_directory(target));
        // On the file system of the target, so that entries can be renamed into place.
        auto const staging = target / fmt::format(".det-unpack-{}", ::getpid());
        auto const& sha256 = record.spec->context->sha256;
        DET_TRY(make_directory(staging));
        auto placed = session.foreign_root ? unpack_copy(root.context(sha256), sha256, staging)
                                           : unpack(root.context(sha256), sha256, staging);
        if (placed) placed = move_entries(staging, target);
        (void)remove_tree(staging);
        if (!placed) {
            if (is_new) (void)remove_tree(target);
            return std::move(placed).error().while_doing(
                fmt::format("unpacking the code of experiment {}", id.value));
        }
        session.answer(Json{{"id", id.value}, {"path", std::filesystem::absolute(target).string()}},
                       target.string() + '\n');
        return ExitCode::done;
    }

private:
    /// Moves all entries of one directory into another. Moves none if the other has an entry of the same
    /// name. An entry that appears meanwhile is not replaced, if the file system has RENAME_NOREPLACE.
    static Status move_entries(std::filesystem::path const& from, std::filesystem::path const& to) {
        DET_TRY_ASSIGN(auto const names, list_directory(from));
        auto const taken = [&](std::string const& name) {
            return Error{codes::name_taken, fmt::format("'{}' exists already", (to / name).string()),
                         "nothing is overwritten: name another directory with --output-dir"};
        };
        for (auto const& name : names) {
            if (path_exists(to / name)) return taken(name);
        }
        for (auto const& name : names) {
            if (::renameat2(AT_FDCWD, (from / name).c_str(), AT_FDCWD, (to / name).c_str(),
                            RENAME_NOREPLACE) == 0)
                continue;
            if (errno == EEXIST) return taken(name);
            // NFS and some other file systems do not know RENAME_NOREPLACE.
            if (errno != EINVAL || path_exists(to / name) ||
                ::rename((from / name).c_str(), (to / name).c_str()) != 0)
                return os_error(fmt::format("write '{}'", (to / name).string()), errno);
        }
        return Ok{};
    }

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

    /// The same for the archive of another user: det-launch unpacks archives of its user only.
    static Status unpack_copy(std::filesystem::path const& archive, std::string const& sha256,
                              std::filesystem::path const& target) {
        DET_TRY_ASSIGN(auto const bytes, read_trusted_file(archive, foreign_file_limit_bytes));
        auto const copy = target.string() + ".tar.zst";
        DET_TRY(write_file(copy, bytes));
        auto unpacked = unpack(copy, sha256, target);
        (void)remove_tree(copy);
        return unpacked;
    }

    std::string id_;
    std::optional<std::string> output_;
};

}  // namespace

std::unique_ptr<Command> make_experiment_download_model_def() {
    return std::make_unique<ExperimentDownloadModelDef>();
}

}  // namespace det::cli
