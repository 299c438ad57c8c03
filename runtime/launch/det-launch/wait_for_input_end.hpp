#pragma once
#include <det/foundation/clock.hpp>

#include <chrono>

namespace det::launch {

enum class InputWait { time_is_over, input_has_ended };

/// Waits until the time, or until `input` ends. What comes from it is ignored.
InputWait wait_for_input_end(std::chrono::steady_clock::time_point time, int input, Clock const& clock);

}  // namespace det::launch
