#pragma once
#include <det/protocol/task_identity.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace det {

/// The environment variables with which a launcher tells each process its rank.
struct LauncherEnvironment {
    std::string_view marker;  // a variable of this launcher that no later launcher in the table sets
    std::string_view rank, size, local_rank, local_size;
    std::string_view cross_rank = {}, cross_size = {};  // empty: the launcher sets none
    /// A variable with the same value in all ranks of a job, and a different one in other jobs on the node.
    /// Empty: none.
    std::string_view job = {};
    bool numbers_nodes = true;           // false: the node comes from the run's info if there is a run
    bool starts_ranks_in_steps = false;  // each rank in its own job step
};

/// Finds the launcher that has started a process, by the process's variables. Returns nullptr if there is
/// none.
LauncherEnvironment const* find_launcher_environment(VariableLookup const& lookup);

/// The number of the rank, as its launcher has set it.
std::optional<std::string> find_rank(VariableLookup const& lookup);

}  // namespace det
