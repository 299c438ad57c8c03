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
    std::vector<std::string> command;  // empty: a login shell
};

/// The program that replaces this one.
struct EnteredProgram {
    std::vector<std::string> argv;
    Environment environment;
    std::filesystem::path directory;
};

/// Finds the rank among the processes of this node and returns the command with the rank's variables and
/// working directory; in the container of the experiment if it has one. Where no process has that rank, for
/// example because a launcher has not started it yet, those of the run on this node are used.
/// codes::wrong_state if no process of the run is here. \param proc The process file system.
Result<EnteredProgram> enter_rank(RankToEnter const& request, Environment const& own,
                                  std::filesystem::path const& proc = "/proc");

}  // namespace det::launch
