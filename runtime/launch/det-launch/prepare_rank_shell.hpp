#pragma once
#include <det/foundation/environment.hpp>
#include <det/foundation/result.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace det::launch {

/// A rank that runs on this node, and a command to run beside it.
struct RankToEnter {
    std::string run_path;  // DET_RUN_PATH of its run
    std::uint32_t rank = 0;
    std::vector<std::string> command;  // empty: an interactive bash
};

/// The program that replaces det-launch.
struct EnteredProgram {
    std::vector<std::string> argv;
    Environment environment;
    std::filesystem::path directory;
};

/// Finds the rank among the processes of this node and returns the command with the rank's variables and
/// working directory. If the experiment has a container, the command runs in a container of its own, in the
/// run's working directory. If no process has that rank, for example because a launcher has not started it
/// yet, uses the variables and directory of another process of the run on this node. codes::wrong_state if no
/// process of the run is on this node.
/// \param proc where the proc file system is mounted
Result<EnteredProgram> prepare_rank_shell(RankToEnter const& request, Environment const& own,
                                          std::filesystem::path const& proc = "/proc");

}  // namespace det::launch
