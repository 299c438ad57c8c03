#include <det/foundation/files.hpp>
#include <det/foundation/list_numeric_names.hpp>
#include <det/foundation/uuid.hpp>
#include <det/journal/reader.hpp>
#include <det/journal/trial_replacements.hpp>

#include <algorithm>
#include <cerrno>
#include <fmt/format.h>
#include <set>

namespace det::journal {
namespace {

namespace fs = std::filesystem;

/// Renames a directory. Returns false if the new name is that of a directory with files.
Result<bool> rename_directory(fs::path const& from, fs::path const& to) {
    if (rename_own(from, to) == 0) return true;
    if (errno == ENOTEMPTY || errno == EEXIST) return false;
    return os_error(fmt::format("rename '{}' to '{}'", from.string(), to.string()), errno);
}

Status write_trial_files(fs::path const& path, ExperimentLayout const& experiment, std::uint32_t replaced,
                         std::string const& claimed) {
    DET_TRY(make_directories(path));
    auto const layout = experiment.trial(replaced);  // for the names of its files
    DET_TRY(write_file(path / layout.replaces().filename(), fmt::format("{}\n", replaced)));
    return claimed.empty() ? Status(Ok{}) : write_file(path / layout.claimed().filename(), claimed);
}

Result<std::uint32_t> rename_to_free_index(fs::path const& path, ExperimentLayout const& experiment,
                                           std::uint32_t first) {
    DET_TRY_ASSIGN(auto const numbers, list_numeric_names(experiment.trials()));
    auto index = numbers.empty() ? first : std::max(first, numbers.back() + 1);
    for (; index < trials_per_experiment_max; ++index) {
        DET_TRY_ASSIGN(bool const is_mine, rename_directory(path, experiment.trial(index).path()));
        if (is_mine) return index;
    }
    return Error{codes::no_such_trial,
                 fmt::format("an experiment has at most {} trials", trials_per_experiment_max)};
}

}  // namespace

Result<Replacements> load_replacements(ExperimentLayout const& experiment, std::uint32_t trial_count) {
    DET_TRY_ASSIGN(auto const numbers, list_numeric_names(experiment.trials()));
    Replacements replacements;
    std::set<std::uint32_t> replaced_trials;
    for (auto const number : numbers) {
        if (number < trial_count) continue;
        DET_TRY_ASSIGN(auto const replaced, load_replaced_trial(experiment, number));
        if (replaced && replaced_trials.insert(*replaced).second) replacements[number] = *replaced;
    }
    return replacements;
}

std::optional<std::uint32_t> find_replacement(Replacements const& replacements, std::uint32_t replaced) {
    auto const found =
        std::ranges::find_if(replacements, [&](auto const& pair) { return pair.second == replaced; });
    return found == replacements.end() ? std::nullopt : std::optional(found->first);
}

std::uint32_t find_planned_trial(Replacements const& replacements, std::uint32_t trial) {
    for (auto found = replacements.find(trial); found != replacements.end(); found = replacements.find(trial))
        trial = found->second;  // always an earlier trial
    return trial;
}

Result<std::uint32_t> find_or_create_replacement(ExperimentLayout const& experiment,
                                                 std::uint32_t trial_count, std::uint32_t replaced,
                                                 std::string const& claimed) {
    DET_TRY_ASSIGN(auto const replacements, load_replacements(experiment, trial_count));
    if (auto const found = find_replacement(replacements, replaced)) return *found;
    auto const path = experiment.trials() / fmt::format(".new-{}", make_uuid());
    DET_TRY(write_trial_files(path, experiment, replaced, claimed));
    auto index = rename_to_free_index(path, experiment, trial_count);
    if (!index) (void)remove_tree(path);
    return index;
}

}  // namespace det::journal
