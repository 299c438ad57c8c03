#pragma once
#include <det/search/random.hpp>
#include <det/search/space.hpp>

namespace det::search {

/// searcher.max_trials, which must be there.
Result<std::uint64_t, Refusals> count_random_trials(Json const& options, Space const& space);

/// The next point, drawn dimension by dimension.
Json sample_point(Space const& space, Random& random);
/// Takes as many random numbers as sample_point, and makes nothing of them.
void skip_point(Space const& space, Random& random);

}  // namespace det::search
