#pragma once
#include <det/experiment/context.hpp>
#include <det/tracker/client/tracker_paths.hpp>
#include <det/tracker/history/history.hpp>

#include <memory>
#include <vector>

namespace det::cli {

/// The root of the experiments, and the files of its tracker on this host.
struct Tracker {
    RootLayout root;
    tracker::client::TrackerPaths paths;
};
/// Fails also if the index would not be on a disk of this host.
Result<Tracker> prepare_tracker_location(experiment::Context const& context);

/// Makes this process the only one that writes the index. Fails if a tracker runs.
Result<tracker::client::TrackerLock> lock_index(Tracker const& tracker);

/// Opens the records of the experiments as they are now: in the index, which it brings up to date, or in the
/// journals while another process writes the index.
Result<std::unique_ptr<tracker::history::History>> open_current_history(
    Tracker const& tracker, std::vector<ExperimentId> const& experiments);

}  // namespace det::cli
