#pragma once
#include <det/foundation/result.hpp>
#include <det/protocol/srun_arguments.hpp>
#include <det/protocol/task_identity.hpp>

#include <optional>
#include <string_view>

namespace det {

/// A step that a task of a run starts by srun.
struct NestedStep {
    int nodes = 1;
    std::string_view program;  // what it runs on each of them
};

/// Refuses a step over all nodes of a supervised run that a task on another node than the first starts: the
/// entrypoint runs on each node, so the first node starts this step too. mpirun starts its daemons on all
/// nodes but its own. Pure.
/// \param caller the environment of the task that calls srun
Status check_nested_step(NestedStep const& step, VariableLookup const& caller);

/// The nodes that srun uses, as far as its arguments say; 1 if they say nothing.
int count_step_nodes(SrunArguments const& arguments);

}  // namespace det
