#include "trial_files.hpp"

#include <det/foundation/files.hpp>
#include <det/foundation/list_numeric_names.hpp>
#include <det/foundation/text.hpp>
#include <det/launch/supervisor/unpack_archive.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fmt/format.h>
#include <unistd.h>

#include "copy_tree.hpp"

namespace det::launch::supervisor {
namespace {

namespace fs = std::filesystem;

/// Prefix of the names of incomplete files and directories. They are renamed when they are complete.
constexpr char unfinished[] = ".new-";

Status rename_to(fs::path const& from, fs::path const& to) {
    if (rename_own(from, to) == 0) return Ok{};
    return os_error(fmt::format("rename '{}' to '{}'", from.string(), to.string()), errno);
}

bool lies_in(fs::path const& path, std::string const& directory) {
    auto const text = path.lexically_normal().string();
    return text == directory || text.starts_with(directory + "/");
}

/// The directories of a trial for one of its runs.
class TrialFiles {
public:
    TrialFiles(ExperimentSpec const& spec, TrialLayout const& trial, std::uint32_t run)
        : spec_(spec), trial_(trial), run_(run) {}

    Status require_newest() const {
        DET_TRY_ASSIGN(auto const runs, list_numeric_names(trial_.runs()));
        if (runs.empty() || runs.back() <= run_) return Ok{};
        return Error{codes::superseded, fmt::format("run {} of this trial exists", runs.back())};
    }

    /// The newest generation if no earlier run can write into it, otherwise a new one.
    Result<std::uint32_t> choose_generation(std::optional<std::uint32_t> may_still_run,
                                            std::function<void(std::string const&)> const& log) const {
        DET_TRY(make_directories(trial_.generations()));
        DET_TRY_ASSIGN(auto const generations, list_numeric_names(trial_.generations()));
        bool const is_safe = !generations.empty() && !(may_still_run && *may_still_run >= generations.back());
        if (is_safe) return generations.back();
        auto const fresh = unfinished_generation();
        DET_TRY(remove_tree(fresh));
        DET_TRY(make_directory(fresh));
        if (!generations.empty()) {
            log(fmt::format("copies the files of the trial, because run {} may still be running",
                            *may_still_run));
            DET_TRY(copy_tree(trial_.generation(generations.back()).path(), fresh));
        }
        DET_TRY(rename_to(fresh, trial_.generation(run_).path()));
        return run_;
    }

    Status add_directories(GenerationLayout const& generation) const {
        DET_TRY(make_directory(generation.files()));
        if (spec_.working_directory == WorkingDirectory::shared) return make_work(generation);
        return spec_.persist.empty() ? Status(Ok{}) : make_persistent(generation);
    }

    /// Removes the generations of earlier runs. Processes of these runs then find no files under the names
    /// that they know.
    Status remove_earlier(std::uint32_t current) const {
        DET_TRY(require_newest());  // a newer run may be copying what would be removed
        DET_TRY_ASSIGN(auto const names, list_directory(trial_.generations()));
        for (auto const& name : names) {
            bool const is_unfinished = name.starts_with(unfinished);
            auto const number = parse_integer<std::uint32_t>(
                is_unfinished ? std::string_view(name).substr(std::size(unfinished) - 1) : name);
            bool const is_old = number && (is_unfinished ? *number <= run_ : *number < current);
            // This may fail while a process makes files there: the next run tries again.
            if (is_old) (void)remove_tree(trial_.generations() / name);
        }
        return Ok{};
    }

    /// Links trials/N/work and so on to the generation, for users. Errors are ignored.
    void link_for_users(GenerationLayout const& generation) const {
        for (auto const& path : {generation.work(), generation.persist(), generation.files()}) {
            if (!path_exists(path)) continue;
            auto const link = trial_.path() / path.filename();
            auto const target = path.lexically_relative(trial_.path());
            std::error_code error;
            if (fs::read_symlink(link, error) == target && !error) continue;
            auto const fresh = trial_.path() / (unfinished + path.filename().string());
            ::unlink(fresh.c_str());
            if (::symlink(target.c_str(), fresh.c_str()) == 0) (void)rename_to(fresh, link);
        }
    }

private:
    fs::path unfinished_generation() const {
        return trial_.generations() / (unfinished + std::to_string(run_));
    }

    Status unpack(fs::path const& directory, MemberFilter const& filter = {}) const {
        if (!spec_.context) return Ok{};
        auto const& sha256 = spec_.context->sha256;
        return unpack_archive(RootLayout(spec_.root).context(sha256), sha256, directory, filter);
    }

    Status make_work(GenerationLayout const& generation) const {
        if (path_exists(generation.work())) return Ok{};
        auto const fresh = generation.path() / (unfinished + std::string("work"));
        DET_TRY(remove_tree(fresh));
        DET_TRY(make_directory(fresh));
        DET_TRY(unpack(fresh));
        return rename_to(fresh, generation.work());
    }

    /// Makes the directories that do not exist yet. A new directory begins with the files that the code has
    /// in it.
    Status make_persistent(GenerationLayout const& generation) const {
        auto wanted = spec_.persist;
        std::erase_if(wanted, [&](auto const& name) { return path_exists(generation.persist() / name); });
        if (wanted.empty()) return Ok{};
        auto const fresh = generation.path() / (unfinished + std::string("persist"));
        DET_TRY(remove_tree(fresh));
        for (auto const& name : wanted) DET_TRY(make_directories(fresh / name));
        DET_TRY(unpack(fresh, [&](fs::path const& member) {
            return std::ranges::any_of(wanted, [&](auto const& name) { return lies_in(member, name); });
        }));
        for (auto const& name : wanted) {
            auto const place = generation.persist() / name;
            DET_TRY(make_directories(place.parent_path()));
            DET_TRY(rename_to(fresh / name, place));
        }
        return remove_tree(fresh);
    }

    ExperimentSpec const& spec_;
    TrialLayout const& trial_;
    std::uint32_t run_;
};

}  // namespace

Result<GenerationLayout> prepare_trial_files(ExperimentSpec const& spec, TrialLayout const& trial,
                                             std::uint32_t run, ResumePoint const& resume,
                                             std::function<void(std::string const&)> const& log) {
    TrialFiles const files(spec, trial, run);
    DET_TRY_ASSIGN(auto const number, files.choose_generation(resume.may_still_run, log));
    auto const generation = trial.generation(number);
    DET_TRY(files.add_directories(generation));
    DET_TRY(files.remove_earlier(number));
    files.link_for_users(generation);
    return generation;
}

void remove_unused_trial_files(TrialLayout const& trial, GenerationLayout const& generation) {
    auto const files = generation.files();
    if (::rmdir(files.c_str()) != 0) return;
    std::error_code error;
    auto const link = trial.path() / files.filename();
    if (fs::read_symlink(link, error) == files.lexically_relative(trial.path()) && !error)
        ::unlink(link.c_str());
    // These fail if the generation has other directories, or an earlier one could not be removed.
    if (::rmdir(generation.path().c_str()) == 0) ::rmdir(trial.generations().c_str());
}

}  // namespace det::launch::supervisor
