#pragma once
#include <det/tracker/history/history.hpp>

#include <string>

namespace det::tracker::history {

/// All that a History has about an experiment, one JSON object a line: the experiment, the reports of each
/// trial's runs, the best validations, the rungs about which the search has decided. Implementations that
/// agree give the same bytes. A part that can't be read is a line with its error.
std::string dump_experiment(History& history, ExperimentId id);

}  // namespace det::tracker::history
