#pragma once
#include <det/foundation/environment.hpp>
#include <det/foundation/result.hpp>
#include <det/protocol/experiment_spec.hpp>

#include <optional>
#include <string>
#include <vector>

namespace det::launch::wrap_rank {

/// What one call of det-wrap-rank is to do.
struct Job {
    Launch level = Launch::rank;  // node: prepare the node, label nothing
    std::string rank;             // of the label, as digits; empty at the node level
    std::vector<std::string> command;
};

inline constexpr char help_text[] =
    R"(det-wrap-rank: runs a command with "[rank=N] " before each line that it prints

    det-wrap-rank RANK [--] CMD...
    det-wrap-rank --node [--] CMD...    labels nothing; gives a task of a run its place on the node

RANK is a number, or names of environment variables separated by commas, of which the first that is set holds it.
Standard output and error stay apart. \n and \r end lines, longer ones are cut after 8191 bytes; bytes pass as
they are. Every signal goes on to the command's process group; in a run of det-submit TERM is Slurm's notice and does
not. With DET_RANK_LOG=FILE the lines are appended there too, with their time. The exit code is the command's, or the
signal that ended it; 1 no variable of RANK is set, 2 a wrong command line, 126 and 127 the command can't be run.
)";

/// Ways to be called:
///   det-wrap-rank RANK [--] CMD...     RANK: digits, or names of variables to look in, separated by commas
///   det-wrap-rank --node [--] CMD...
///   det-wrap-rank --spank CMD...  by the plugin: DET_LAUNCH tells the level
///   det-wrap-rank ARG...          by the plugin before Slurm 23.11: the command is DET_SPANK_COMMAND
///   det-wrap-rank --help          help_text, in main
Result<Job> parse_arguments(std::vector<std::string> const& arguments, Environment const& environment);

}  // namespace det::launch::wrap_rank
