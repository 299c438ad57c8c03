#pragma once
#include <det/foundation/clock.hpp>
#include <det/foundation/environment.hpp>
#include <det/foundation/result.hpp>

#include <csignal>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace det::wrap_rank {

/// How the output of a command goes on.
struct Labels {
    std::string prefix;                        // before every line; empty: bytes pass as they are
    std::optional<std::filesystem::path> log;  // lines are appended there too, with their time
};

struct RelayedCommand {
    std::vector<std::string> argv;
    Environment environment;
    std::optional<std::filesystem::path> directory;
    Labels labels;
    sigset_t signal_mask;  // of the command
    /// Called with each signal that comes: false where the command is to have it too. One that it must never
    /// have, from whomever, stands in its mask as well.
    std::function<bool(int)> take_signal;
};

/// How a command ended.
struct CommandEnd {
    int exit_code = 0;
    int signal = 0;  // 0, or what ended it
};

/// Runs a command as a child, passes on its output, and passes signals on to it. Memory is bounded. Returns
/// when the child has ended and all that it wrote is passed on; what grandchildren write later is not waited
/// for.
Result<CommandEnd> relay(RelayedCommand const& command, Clock const& clock);

/// Blocks the signals that relay() takes over, so that none is lost before it runs. Returns the mask before.
sigset_t block_relayed_signals();

}  // namespace det::wrap_rank
