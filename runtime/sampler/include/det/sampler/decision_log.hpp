#pragma once
#include <det/protocol/directory_layout.hpp>
#include <det/sampler/decision.hpp>

#include <filesystem>

// The files of an experiment's sampler, below sampler/ of the experiment.
namespace det::sampler {

std::filesystem::path sampler_directory(ExperimentLayout const& experiment);

/// Reads the decisions of an experiment; empty if there are none. Reads the files that `known` does not have.
/// codes::damaged if a file is damaged; errors of read_trusted_file()
Result<Decisions> load_decisions(ExperimentLayout const& experiment, Decisions known = {});

/// Records a decision that was made from `decisions`, the ones before it. link(2) gives its number to one
/// process only: the decisions are a sequence, and each was made from all that precede it.
/// \return false if another process has recorded one meanwhile: nothing is recorded
Result<bool> record_decision(ExperimentLayout const& experiment, Decisions const& decisions,
                             Decision const& decision);

/// Reads the decision with which a trial began, usually from one file; nullopt if there is none.
Result<std::optional<Decision>> find_begin(ExperimentLayout const& experiment, std::uint32_t trial);

/// Reads the decision that has pruned a trial; nullopt if there is none. Takes one listing of a directory,
/// which usually does not exist, however many decisions there are.
Result<std::optional<Decision>> find_prune(ExperimentLayout const& experiment, std::uint32_t trial);

}  // namespace det::sampler
