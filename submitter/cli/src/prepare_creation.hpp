#pragma once
#include "command.hpp"
#include "creation.hpp"
#include "load_config.hpp"

namespace det::cli {

/// What `experiment create`, `fork` and `continue` ask for.
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

/// Everything that can be wrong, looked at before anything is made.
Result<Creation, Diagnostics> prepare_creation(ExperimentRequest request, Session& session);

}  // namespace det::cli
