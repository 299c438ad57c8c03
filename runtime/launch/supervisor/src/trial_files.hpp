#pragma once
#include <det/protocol/directory_layout.hpp>
#include <det/protocol/experiment_spec.hpp>

#include <functional>
#include <string>

#include "resume_point.hpp"

namespace det::launch::supervisor {

/// Prepares the trial's own files for a run: the shared working directory or the persistent directories, and
/// DET_TRIAL_DIR. A shared working directory gets the code once per trial, and a new persistent directory the
/// files that the code has in it; prepare_node() unpacks the code for all other working directories. If an
/// earlier run may still write into the files, this run gets a copy of them and removes the originals. Files
/// appear whole: a crash in the middle changes nothing.
///
/// \param log receives a line if files are copied.
///
/// \return the generation in which the run works; codes::superseded if a newer run exists.
Result<GenerationLayout> prepare_trial_files(ExperimentSpec const& spec, TrialLayout const& trial,
                                             std::uint32_t run, ResumePoint const& resume,
                                             std::function<void(std::string const&)> const& log);

}  // namespace det::launch::supervisor
