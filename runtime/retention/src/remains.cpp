#include <det/foundation/numbered.hpp>
#include <det/journal/reader.hpp>
#include <det/retention/remains.hpp>

#include <algorithm>
#include <set>

namespace det::retention {
namespace {

/// UUIDs that a run began, without those that it committed.
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
                    std::vector<Remains>& candidates) {
    DET_TRY_ASSIGN(auto runs, list_numbers(layout.runs()));
    if (!is_over && !runs.empty()) runs.pop_back();
    for (auto const run : runs) {
        DET_TRY_ASSIGN(auto const uuids, list_uncommitted(layout.run(run)));
        for (auto const& uuid : uuids) candidates.push_back({uuid, trial, run});
    }
    return Ok{};
}

}  // namespace

Result<std::vector<Remains>> find_remains(ExperimentLayout const& experiment, checkpoint::Store const& store,
                                          std::function<bool(std::uint32_t trial)> const& is_over) {
    std::vector<Remains> remains;
    DET_TRY_ASSIGN(auto const trials, list_numbers(experiment.trials()));
    for (auto const trial : trials)
        DET_TRY(add_of_trial(experiment.trial(trial), trial, is_over(trial), remains));
    if (remains.empty()) return remains;
    DET_TRY_ASSIGN(auto const listed, store.list());
    std::set<std::string> const there(listed.begin(), listed.end());
    std::erase_if(remains, [&](auto const& each) {
        if (!there.contains(each.uuid)) return true;
        // With a manifest it is whole: committed, though its run did not live to report it.
        auto const found = store.find(each.uuid);
        return found || found.error().code != codes::no_such_checkpoint;
    });
    return remains;
}

}  // namespace det::retention
