#pragma once
#include <det/pack/tree.hpp>
#include <det/protocol/desired.hpp>
#include <det/protocol/experiment_spec.hpp>

#include <optional>
#include <string>
#include <vector>

#include "command.hpp"
#include "load_config.hpp"

namespace det::cli {

/// What `experiment create` and `experiment fork` ask for.
struct ExperimentRequest {
    ConfigSources sources;
    pack::ContextSources code;
    std::optional<ContextSpec> packed_code;  // in its place: code that is stored already
    std::optional<ExperimentId> parent;
    Desired desired = Desired::run;
    bool is_test = false;     // as short as can be, followed, and put away when it went well
    bool is_dry_run = false;  // the script is shown, nothing is submitted
    bool follow = false;      // the first trial, until it has ended
};

/// From the configuration to the answer that the command prints.
Outcome submit_experiment(ExperimentRequest request, Session& session);

}  // namespace det::cli
