#pragma once
#include <det/search/random.hpp>
#include <det/search/space.hpp>

#include <string_view>

namespace det::search {

/// What a searcher is: how many trials it makes, and how it finds the point of each in turn.
struct Method {
    std::string_view name;  // as in the configuration
    Result<std::uint64_t, Refusals> (*count_trials)(Json const& options, Space const& space);
    /// Trial index of count. All that is taken from `random` for a point is taken here or by skip_point.
    Json (*next_point)(Space const& space, std::uint32_t index, std::uint32_t count, Random& random);
    void (*skip_point)(Space const& space, Random& random);
};

}  // namespace det::search
