#pragma once
#include <string_view>

// What the supervisor asks of the wrappers of a step: lines that srun copies from its standard input to that
// of every task; the wrapper of a batch script (`launch: script`) gets them without srun. No signal is sent,
// because a signal to a step may reach every process of the program.
namespace det::step_requests {

/// The ranks must save their work and stop. The file RunLayout::stop_request() follows.
inline constexpr std::string_view stop = "stop";
/// Slurm preempts the job and has told its steps, but not its batch script. Only for `launch: script`.
inline constexpr std::string_view notice = "notice";
/// All processes of the command must end. Only for `launch: script`, which has no srun that could end them.
inline constexpr std::string_view end = "end";
/// The stacks of the ranks must be written to the log. The file RunLayout::hung() follows.
inline constexpr std::string_view stacks = "stacks";

}  // namespace det::step_requests
