#include "tracker/location.hpp"

#include <det/experiment/root_directory.hpp>
#include <det/tracker/history/journal_history.hpp>
#include <det/tracker/index/index_history.hpp>
#include <det/tracker/index/local_disk.hpp>
#include <det/tracker/index/tables.hpp>
#include <det/tracker/ingest/ingester.hpp>
#include <det/tracker/ingest/rebuild.hpp>

namespace det::cli {
namespace {

using namespace tracker;

/// Updates the experiments in the index, which no other process writes as long as the lock is held.
Status refresh_index(Tracker const& tracker, std::vector<ExperimentId> const& ids) {
    DET_TRY_ASSIGN(auto index, ingest::open_or_rebuild_index(tracker.paths.index(), tracker.root));
    ingest::Ingester ingester(std::move(index), tracker.root);
    for (auto const id : ids) DET_TRY(ingester.refresh(id, {}));
    return Ok{};
}

}  // namespace

Result<Tracker> prepare_tracker_location(experiment::Context const& context) {
    DET_TRY_ASSIGN(auto root, experiment::find_shown_root(context));
    DET_TRY_ASSIGN(auto paths, tracker::client::make_tracker_paths(context.environment, root));
    DET_TRY(tracker::index::require_local_disk(paths.index_directory,
                                               "set DET_INDEX_DIR to a directory on a disk of this host"));
    return Tracker{std::move(root), std::move(paths)};
}

Result<tracker::client::TrackerLock> lock_index(Tracker const& tracker) {
    DET_TRY_ASSIGN(auto lock, tracker::client::TrackerLock::try_take(tracker.paths));
    if (lock) return *std::move(lock);
    return Error{codes::wrong_state, "a tracker runs, and only one process may write its index",
                 "stop it first with 'det-tracker stop'"};
}

Result<std::unique_ptr<history::History>> open_current_history(Tracker const& tracker,
                                                               std::vector<ExperimentId> const& ids) {
    using Opened = std::unique_ptr<history::History>;
    DET_TRY_ASSIGN(auto const lock, client::TrackerLock::try_take(tracker.paths));
    if (!lock) return Opened(std::make_unique<history::JournalHistory>(tracker.root));
    DET_TRY(refresh_index(tracker, ids));
    auto const& root = tracker.root.path();
    DET_TRY_ASSIGN(auto index, index::open_index(tracker.paths.index(), root, index::Access::read));
    return Opened(std::make_unique<index::IndexHistory>(std::move(index), root));
}

}  // namespace det::cli
