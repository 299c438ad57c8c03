#include <det/foundation/numbered.hpp>
#include <det/journal/reader.hpp>
#include <det/retention/uncommitted.hpp>

#include <algorithm>
#include <set>

namespace det::retention {
namespace {

/// UUIDs of the checkpoints that a run has begun and not committed.
Result<std::set<std::string>> list_uncommitted(RunLayout const& run) {
    DET_TRY_ASSIGN(auto const journal, journal::load_journal(run.journal()));
    std::set<std::string> uuids;
    for (auto const& record : journal.records) {
        if (auto const* begun = std::get_if<CheckpointBegun>(&record)) uuids.insert(begun->uuid);
        if (auto const* committed = std::get_if<CheckpointCommitted>(&record)) uuids.erase(committed->uuid);
    }
    return uuids;
}

Status add_of_trial(TrialLayout const& layout, std::uint32_t trial, bool is_over,
                    std::vector<UncommittedCheckpoint>& candidates) {
    DET_TRY_ASSIGN(auto runs, list_numbers(layout.runs()));
    if (!is_over && !runs.empty()) runs.pop_back();
    for (auto const run : runs) {
        DET_TRY_ASSIGN(auto const uuids, list_uncommitted(layout.run(run)));
        for (auto const& uuid : uuids) candidates.push_back({uuid, trial, run});
    }
    return Ok{};
}

}  // namespace

Result<std::vector<UncommittedCheckpoint>> find_uncommitted(
    ExperimentLayout const& experiment, checkpoint::Store const& store,
    std::function<bool(std::uint32_t trial)> const& is_over) {
    std::vector<UncommittedCheckpoint> uncommitted;
    DET_TRY_ASSIGN(auto const trials, list_numbers(experiment.trials()));
    for (auto const trial : trials)
        DET_TRY(add_of_trial(experiment.trial(trial), trial, is_over(trial), uncommitted));
    if (uncommitted.empty()) return uncommitted;
    DET_TRY_ASSIGN(auto const listed, store.list());
    std::set<std::string> const there(listed.begin(), listed.end());
    std::erase_if(uncommitted, [&](auto const& each) {
        if (!there.contains(each.uuid)) return true;
        // A checkpoint with a manifest is committed, although its run ended before it reported that.
        auto const found = store.find(each.uuid);
        return found || found.error().code != codes::no_such_checkpoint;
    });
    return uncommitted;
}

}  // namespace det::retention
