#pragma once
#include <det/search/random.hpp>
#include <det/search/space.hpp>

namespace det::search {

/// Returns searcher.max_trials. Fails if it is missing.
Result<std::uint64_t, Refusals> count_random_trials(Json const& options, Space const& space);

/// The next point, drawn dimension by dimension.
Json sample_point(Space const& space, Random& random);
/// Takes the same random numbers as sample_point without computing a point.
void skip_point(Space const& space, Random& random);

}  // namespace det::search
