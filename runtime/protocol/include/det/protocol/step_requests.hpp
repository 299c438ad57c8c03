#pragma once
#include <string_view>

// What the supervisor asks of the wrappers of a step: lines that srun copies from its standard input to that
// of every task. No signal is sent, because a signal to a step may reach every process of the program.
namespace det::step_requests {

/// The ranks must save their work and stop. The file RunLayout::stop_request() follows.
inline constexpr std::string_view stop = "stop";
/// The stacks of the ranks must be written to the log. The file RunLayout::hung() follows.
inline constexpr std::string_view stacks = "stacks";

}  // namespace det::step_requests
