#pragma once
#include <det/config/sbatch_args.hpp>
#include <det/foundation/diagnostic.hpp>
#include <det/foundation/result.hpp>
#include <det/yaml/node.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace det::config {

/// A user's batch script, read as sbatch reads it.
struct BatchScript {
    std::vector<std::string> interpreter;  // the words of the shebang line, as the kernel splits them
    yaml::Node layer;  // the header as a configuration; its values are at lines of the script
    Diagnostics warnings;
};

/// Where a batch script is, and how it is called.
struct BatchScriptCall {
    std::string name;                              // for messages, as the user wrote it
    std::filesystem::path path;                    // absolute
    std::vector<std::string> arguments;            // of the script
    std::filesystem::path directory;               // absolute: in which sbatch would be called
    std::vector<SbatchArg> sbatch_variables = {};  // options of the environment, see parse_sbatch_variables()
};

/// True if the text begins with `#!`, which no configuration does.
bool is_batch_script(std::string_view text);

/// Reads the header of a script: all #SBATCH lines before the first command. What sbatch reads and det-submit
/// sets itself, #SBATCH lines after the first command, and words that end sbatch's reading are warnings.
/// Errors are what sbatch refuses before it asks Slurm, and heterogeneous jobs. Pure.
///
/// The layer has slurm.sbatch_args with the options; `name` is the job's name; an --array becomes the grid of
/// the hyperparameter array_parameter, so that each task is a trial.
Result<BatchScript, Diagnostics> read_batch_script(std::string_view text, BatchScriptCall const& call);

/// \return The words of a shebang line as the kernel splits them: the interpreter, and the rest of the line
/// as one argument; empty if the text has none. Pure.
std::vector<std::string> read_shebang(std::string_view text);

/// The hyperparameter that is the task of a script's array.
inline constexpr char array_parameter[] = "SLURM_ARRAY_TASK_ID";

/// The value of sbatch --array.
struct ArrayExpression {
    std::string indices;                            // without the maximum: "1-9:2,12"
    std::vector<std::uint32_t> task_ids;            // in ascending order
    std::optional<std::uint32_t> running_max = {};  // after '%'
};

/// Parses "1-10:2%4", "1,5,9", "[0-3]". The Error says what is wrong; it has no location. Pure.
Result<ArrayExpression> parse_array_expression(std::string_view text);

}  // namespace det::config
