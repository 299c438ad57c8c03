#pragma once
#include <det/search/space.hpp>

namespace det::search {

/// The number of grid points: the product of the axis lengths (1 for a constant or an empty group). Without
/// hyperparameters it is 0. Saturates at the maximum of 64 bits.
Result<std::uint64_t, Refusals> count_grid_points(Json const& options, Space const& space);

/// The point with this index; the last axis varies fastest. Requires index < count_grid_points() <= 2^32.
Json grid_point(Space const& space, std::uint64_t index);

/// Formats like "a 100 x b 20" for messages.
std::string describe_grid(Space const& space);

}  // namespace det::search
