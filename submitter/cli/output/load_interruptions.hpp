#pragma once
#include <det/tracker/history/experiment_view.hpp>
#include <det/tracker/history/experiment_view_json.hpp>

#include <vector>

namespace det::cli {

/// The fields that list, describe and wait share.
using tracker::history::to_json;

/// Loads the interruptions of a trial. Does not read the journals of a trial without interruptions.
Result<std::vector<tracker::history::Interruption>> load_interruptions(
    tracker::history::History& history, tracker::history::TrialView const& trial);

}  // namespace det::cli
