#pragma once
#include <det/foundation/clock.hpp>
#include <det/foundation/environment.hpp>
#include <det/foundation/result.hpp>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace det::launch::wrap_rank {

/// How the output of a command goes on.
struct Labels {
    std::string prefix;                        // before every line; empty: bytes pass as they are
    std::optional<std::filesystem::path> log;  // lines are appended there too, with their time
    /// At the node level: whether lines that begin with a rank's label are in the log already.
    std::function<bool()> ranks_log_themselves = {};
};

enum class StartedBy { slurm, launcher };

struct RelayedCommand {
    std::vector<std::string> argv;
    Environment environment;
    std::optional<std::filesystem::path> directory;
    Labels labels;
    sigset_t signal_mask;  // of the command
    /// Called with each signal that comes: false where the command is to have it too. One that it must never
    /// have, from whomever, stands in its mask as well.
    std::function<bool(int)> take_signal = {};
    /// Called at once and then at this interval while the command runs.
    std::function<void()> beat = {};
    std::chrono::milliseconds beat_interval{0};
    /// A launcher that has started us may order us to end, by TERM. Then the command's group gets TERM, and
    /// KILL order_grace later.
    StartedBy started_by = StartedBy::slurm;
};

inline constexpr std::chrono::seconds order_grace{3};
/// How long what a command has left behind may hold its output open.
inline constexpr std::chrono::seconds output_grace{1};

/// How a command ended.
struct CommandEnd {
    int exit_code = 0;
    int signal = 0;          // 0, or what ended it
    UtcTime time;            // when, by our clock
    std::string last_words;  // its last lines; empty where there is no log
};

/// Runs a command as a child in a process group of its own, passes on its output, and passes every signal on
/// to its group. Memory is bounded. Returns when the child has ended and all that it wrote is passed on. What
/// grandchildren write later is waited for no longer than output_grace. The child does not outlive us,
/// however we end.
Result<CommandEnd> relay(RelayedCommand const& command, Clock const& clock);

/// Blocks the signals that relay() takes over, so that none is lost before it runs. Returns the mask before.
sigset_t block_relayed_signals();

}  // namespace det::launch::wrap_rank
