#pragma once
#include <det/foundation/environment.hpp>
#include <det/foundation/result.hpp>
#include <det/protocol/experiment_spec.hpp>

#include <optional>
#include <string>
#include <vector>

namespace det::wrap_rank {

/// What one call of det-wrap-rank is to do.
struct Job {
    Launch level = Launch::rank;  // node: prepare the node, label nothing
    std::string rank;             // of the label, as digits; empty at the node level
    std::vector<std::string> command;
};

/// Ways to be called:
///   det-wrap-rank RANK CMD...     RANK: digits, or names of variables to look in, separated by commas
///   det-wrap-rank --node CMD...
///   det-wrap-rank --spank CMD...  by the plugin: DET_LAUNCH tells the level
///   det-wrap-rank ARG...          by the plugin before Slurm 23.11: the command is DET_SPANK_COMMAND
Result<Job> parse_arguments(std::vector<std::string> const& arguments, Environment const& environment);

}  // namespace det::wrap_rank
