#pragma once
#include <det/protocol/directory_layout.hpp>
#include <det/protocol/rank_failure.hpp>
#include <det/tracker/history/experiment_view.hpp>

#include <cstddef>
#include <optional>
#include <string>

#include "session.hpp"

namespace det::cli {

/// The rank that failed first in a run of a trial; nullopt if none has failed. Warns if the record can't be
/// read.
std::optional<RankFailure> first_failure(ExperimentLayout const& experiment, RunId run,
                                         Session const& session);

/// Describes the first rank that failed in the last run of a trial, with at most `lines_max` lines of its
/// output (failure_text). Empty if no rank has failed, or if the run ended for another cause than a failure.
std::string last_failure_text(ExperimentLayout const& experiment, tracker::history::TrialView const& trial,
                              std::size_t lines_max, Session const& session);

}  // namespace det::cli
