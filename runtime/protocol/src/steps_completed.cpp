#include <det/protocol/steps_completed.hpp>

#include <fmt/format.h>

namespace det {

Status check_steps_completed(std::uint64_t steps_completed) {
    if (steps_completed <= steps_completed_max) return Ok{};
    return Error{
        codes::misuse,
        fmt::format("steps_completed is {} ({} as a signed number), which is not a number of "
                    "batches from 0 to {}",
                    steps_completed, static_cast<std::int64_t>(steps_completed), steps_completed_max),
        "pass the number of batches since the beginning of the trial"};
}

}  // namespace det
