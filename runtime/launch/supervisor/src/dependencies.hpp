#pragma once
#include <det/foundation/result.hpp>
#include <det/protocol/experiment_spec.hpp>

#include <string>

namespace det::launch::supervisor {

/// Whether an experiment may start, as slurm.after and slurm.after_any of its configuration say.
struct StartPermission {
    std::string waits_for;  // "experiment 7": it has not ended yet; empty: nothing is waited for
    std::string refusal;    // why no trial may ever start; empty: none
};

/// Reads the journals of the experiments that this one waits for.
Result<StartPermission> check_dependencies(ExperimentSpec const& spec);

}  // namespace det::launch::supervisor
