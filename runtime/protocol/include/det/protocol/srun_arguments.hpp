#pragma once
#include <det/protocol/task_identity.hpp>

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace det {

/// The options of an srun command that say where its output goes and on which nodes it runs. srun takes an
/// option from its command line, else from an environment variable.
struct SrunArguments {
    std::optional<std::string> output = {};     // --output, SLURM_STDOUTMODE
    std::optional<std::string> error = {};      // --error, SLURM_STDERRMODE
    std::optional<std::string> nodes = {};      // --nodes, SLURM_JOB_NUM_NODES, SLURM_NNODES: "2", "2-4"
    std::optional<std::string> node_list = {};  // --nodelist
    std::optional<std::string> tasks = {};      // --ntasks; not from a variable
    std::vector<std::string> command = {};      // the program and its arguments
};

/// Parses the words after "srun". An option that is not known here and is followed by a word without '='
/// counts as one that takes this word as its value. Pure.
SrunArguments parse_srun_arguments(std::span<std::string const> words, VariableLookup const& lookup);

/// Whether the value of --output or --error names a file. Otherwise it is "all", "none" or the number of a
/// task.
bool names_output_file(std::string_view value);

}  // namespace det
