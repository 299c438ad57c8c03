#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>
#include <det/journal/reader.hpp>
#include <det/supervisor/resume_point.hpp>

#include <algorithm>
#include <ranges>

namespace det::supervisor {
namespace {

/// The last of the journal's checkpoints that is really there.
Result<bool> find_checkpoint(RunLayout const& run, checkpoint::SharedFsStore const& store,
                             ResumePoint& point) {
    DET_TRY_ASSIGN(auto const journal, journal::load_journal(run.journal()));
    for (auto const& record : std::views::reverse(journal.records)) {
        auto const* committed = std::get_if<CheckpointCommitted>(&record);
        if (committed == nullptr || !store.find(committed->uuid)) continue;
        point.checkpoint = committed->uuid;
        point.steps_completed = committed->steps_completed;
        return true;
    }
    return false;
}

Result<bool> has_failed(RunLayout const& run) {
    DET_TRY_ASSIGN(auto const life, journal::load_journal(run.life()));
    return std::any_of(life.records.begin(), life.records.end(), [](auto const& record) {
        auto const* ended = std::get_if<RunEnded>(&record);
        return ended != nullptr && ended->cause == Cause::failed;
    });
}

}  // namespace

Result<std::vector<std::uint32_t>> list_runs(TrialLayout const& trial) {
    DET_TRY_ASSIGN(auto const names, list_directory(trial.runs()));
    std::vector<std::uint32_t> runs;
    for (auto const& name : names) {
        if (auto const number = parse_integer<std::uint32_t>(name)) runs.push_back(*number);
    }
    std::sort(runs.begin(), runs.end());
    return runs;
}

Result<ResumePoint> find_resume_point(TrialLayout const& trial, checkpoint::SharedFsStore const& store) {
    DET_TRY_ASSIGN(auto const runs, list_runs(trial));
    ResumePoint point;
    if (!runs.empty()) point.next_run = runs.back() + 1;
    bool found = false;
    for (auto const number : std::views::reverse(runs)) {
        auto const run = trial.run(number);
        DET_TRY_ASSIGN(bool const failed, has_failed(run));
        if (failed) ++point.restarts;
        if (!found) {
            DET_TRY_ASSIGN(found, find_checkpoint(run, store, point));
        }
    }
    return point;
}

}  // namespace det::supervisor
