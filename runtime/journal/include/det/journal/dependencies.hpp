#pragma once
#include <det/foundation/result.hpp>
#include <det/protocol/directory_layout.hpp>
#include <det/protocol/ids.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace det::journal {

/// An experiment or a trial for whose end another experiment waits (slurm.after, slurm.after_any).
struct Dependency {
    ExperimentId experiment;
    std::optional<std::uint32_t> trial;  // nothing: the whole experiment
};

/// Parses "7" and "7.3".
std::optional<Dependency> parse_dependency(std::string_view text);
std::string describe(Dependency const& dependency);  // "experiment 7", "trial 7.3"

enum class DependencyState {
    open,         // it has not ended: it runs, waits, is paused, or was interrupted and may go on
    ended_well,   // the trial has completed; of an experiment all trials have ended and one has completed
    ended_badly,  // it has ended in another way
};

/// Reads the state from the journals below the root. An experiment that Slurm has requeued is open.
/// \return codes::no_such_experiment, codes::no_such_trial, and the codes of files that can't be read
Result<DependencyState> load_dependency_state(RootLayout const& root, Dependency const& dependency);

}  // namespace det::journal
