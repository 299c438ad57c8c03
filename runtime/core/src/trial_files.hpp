#pragma once
#include <det/journal/reader.hpp>
#include <det/protocol/directory_layout.hpp>

#include <cstdint>
#include <vector>

#include "context_data.hpp"

// The files of a trial that ranks read. All require ContextData::in_experiment().
namespace det::core {

TrialLayout trial_of(ContextData const& data);
ExperimentLayout experiment_of(ContextData const& data);

/// Returns the records of the chief's journals of the trial's runs, from run `first` on, in order. The
/// supervisor's journals (RunLayout::supervisor_journal()) are not read.
Result<std::vector<Record>> load_chief_records(TrialLayout const& trial, std::uint32_t first = 0);

}  // namespace det::core
