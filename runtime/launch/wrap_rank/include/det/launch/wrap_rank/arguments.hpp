#pragma once
#include <det/foundation/environment.hpp>
#include <det/foundation/result.hpp>
#include <det/protocol/experiment_spec.hpp>

#include <optional>
#include <string>
#include <vector>

namespace det::launch::wrap_rank {

/// One call of det-wrap-rank.
struct WrapRequest {
    Launch level = Launch::rank;  // node: prepare the node, label nothing
    std::string rank;             // of the label, in decimal; empty at the node level
    std::vector<std::string> command;
};

inline constexpr char help_text[] =
    R"(det-wrap-rank: runs a command with "[rank=N] " before each line that it prints

    det-wrap-rank RANK [--] CMD...
    det-wrap-rank --node [--] CMD...    labels nothing; enters DET_RUN_DIR for a task of a run

RANK is a number, or names of environment variables separated by commas, of which the first that is set holds it.
Standard output and error stay separate. \n and \r end lines, longer ones are cut after 8191 bytes; bytes are not
changed. Every signal is forwarded to the command's process group; in a run of det-submit TERM is Slurm's notice and does
not. With DET_RANK_LOG=FILE the lines are appended there too, with their time. The exit code is the command's, or the
signal that ended it; 1 no variable of RANK is set, 2 a wrong command line, 126 and 127 the command can't be run.
)";

/// Parses one of
///   det-wrap-rank RANK [--] CMD...     RANK: digits, or names of variables, separated by commas
///   det-wrap-rank --node [--] CMD...
///   det-wrap-rank --spank CMD...  called by the SPANK plugin: DET_LAUNCH is the level
///   det-wrap-rank ARG...          called by the plugin before Slurm 23.11: the command is DET_SPANK_COMMAND
/// The caller handles --help.
Result<WrapRequest> parse_arguments(std::vector<std::string> const& arguments,
                                    Environment const& environment);

}  // namespace det::launch::wrap_rank
