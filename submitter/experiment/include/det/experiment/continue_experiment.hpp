#pragma once
#include <det/experiment/config_changes.hpp>
#include <det/experiment/open_experiment.hpp>
#include <det/protocol/array_job.hpp>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace det::experiment {

struct ContinueOptions {
    std::string id;                                // as the user typed it
    std::optional<std::filesystem::path> changes;  // a file with changes of the configuration
    std::vector<std::string> overrides;            // "a.b=value"
};

struct ContinuedExperiment {
    OpenExperiment experiment;  // its state before the call
    std::uint32_t revision = 0;
    std::vector<ConfigChange> changes;  // empty if the call only finished an earlier continuation
    std::vector<std::uint32_t> trials;  // the trials that this revision runs
    std::vector<ArrayJob> arrays;
};

/// Continues an experiment that has ended, with the same or a changed configuration. Of a single search, runs
/// its trial again; of a grid or random search, runs again all trials that have not completed. If the
/// experiment was continued already and no trial has begun since, only finishes that continuation.
Result<ContinuedExperiment, Diagnostics> continue_experiment(ContinueOptions const& options,
                                                             Context& context);

}  // namespace det::experiment
