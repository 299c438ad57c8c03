#pragma once
#include <det/protocol/directory_layout.hpp>
#include <det/protocol/document.hpp>
#include <det/tracker/history/view.hpp>

#include <string>
#include <vector>

namespace det::cli {

/// Returns the JSON fields that list, describe and wait share.
Json to_json(tracker::history::ExperimentView const& view);
Json to_json(tracker::history::TrialView const& trial);
Json to_json(tracker::history::Interruption const& interruption);

/// Loads the interruptions of a trial. Does not read the journals of a trial without interruptions.
Result<std::vector<tracker::history::Interruption>> load_interruptions(
    RootLayout const& root, tracker::history::TrialView const& trial);

}  // namespace det::cli
