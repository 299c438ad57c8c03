#pragma once
#include <det/search/space.hpp>

namespace det::search {

/// How many points the grid has: the product of its axes, 1 for a constant or an empty group; no
/// hyperparameters, no points. More than 64 bits hold is their greatest number.
Result<std::uint64_t, Refusals> count_grid_points(Json const& options, Space const& space);

/// The index-th point, the last axis fastest, by arithmetic. index < count_grid_points <= 2^32.
Json grid_point(Space const& space, std::uint64_t index);

/// "a 100 x b 20", for messages.
std::string describe_grid(Space const& space);

}  // namespace det::search
