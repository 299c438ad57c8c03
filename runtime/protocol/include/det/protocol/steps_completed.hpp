#pragma once
#include <det/foundation/result.hpp>

#include <cstdint>
#include <limits>

namespace det {

/// The largest steps_completed: journals' readers have signed numbers.
inline constexpr auto steps_completed_max =
    static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());

/// Fails with codes::misuse if the number is above steps_completed_max, as a negative number is that was
/// converted to an unsigned one.
Status check_steps_completed(std::uint64_t steps_completed);

}  // namespace det
