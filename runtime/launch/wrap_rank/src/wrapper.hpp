#pragma once
#include <det/protocol/launch_options.hpp>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "relay.hpp"

namespace det::launch::wrap_rank {

/// One call of det-wrap-rank.
struct WrapRequest {
    Launch level = Launch::rank;  // node and script: prepare the node, label nothing
    std::string rank;             // of the label, in decimal; empty at the node level
    std::vector<std::string> command;
    std::filesystem::path directory = {};  // of a batch script; empty: that of the trial's code
    /// Called with the exit code when the command has ended, before the files of its run are awaited.
    std::function<void(int)> when_ended = {};
};

/// Enters DET_RUN_DIR if the task belongs to a run, sets the command's environment, and runs it. At the rank
/// level its lines get a label. If the task is already wrapped, its command replaces this process unchanged.
/// \param helper the path of det-launch.
Result<CommandEnd> run_wrapped(WrapRequest request, Environment environment,
                               std::filesystem::path const& helper, Clock const& clock);

}  // namespace det::launch::wrap_rank
