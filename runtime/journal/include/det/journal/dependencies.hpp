#pragma once
#include <det/foundation/result.hpp>
#include <det/protocol/directory_layout.hpp>
#include <det/protocol/experiment_spec.hpp>
#include <det/protocol/ids.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace det::journal {

/// An experiment or a trial for whose end another experiment waits (slurm.after, slurm.after_any).
struct Dependency {
    ExperimentId experiment;
    std::optional<std::uint32_t> trial;  // nullopt: the whole experiment
};

/// Parses "7" (an experiment) and "7.3" (a trial).
std::optional<Dependency> parse_dependency(std::string_view text);
std::string describe(Dependency const& dependency);  // "experiment 7", "trial 7.3"

enum class DependencyState {
    open,  // not ended: runs, waits in the queue, is paused, or was interrupted and can be resumed
    // The trial has completed; or all trials have ended, at least one has completed, and the user has not
    // cancelled or killed the experiment before the others
    ended_well,
    ended_badly,  // ended otherwise
};

/// Reads the state from the journals below the root. A trial that waits in the queue is open, unless the user
/// has cancelled it.
/// \return codes::no_such_experiment, codes::no_such_trial, and the codes of files that can't be read
Result<DependencyState> load_dependency_state(RootLayout const& root, Dependency const& dependency);

/// Reads the states of all trials of an experiment that is not packed, also of those that replace others.
Result<std::map<std::uint32_t, DependencyState>> load_trial_states(ExperimentLayout const& experiment,
                                                                   ExperimentSpec const& spec);

}  // namespace det::journal
