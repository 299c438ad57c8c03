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

/// Removes the DET_TRIAL_DIR of a trial that has ended if programs have left nothing in it, the link to it,
/// and the generation if it has nothing else. Removes directories by rmdir(2) only, so that a file that
/// appears meanwhile stays. A later run makes them anew.
///
/// \param generation the one in which the ended run worked: a run that does not know that this one has ended
/// works in a newer one, which stays.
void remove_unused_trial_files(TrialLayout const& trial, GenerationLayout const& generation);

}  // namespace det::launch::supervisor
