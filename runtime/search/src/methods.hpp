#pragma once
#include <det/protocol/experiment_spec.hpp>
#include <det/search/numpy_random.hpp>
#include <det/search/space.hpp>

#include <string_view>

namespace det::search {

/// A search method: counts its trials and computes the hyperparameters (the point) of each trial in order.
struct Method {
    std::string_view name;  // as in the configuration
    /// Whether a trial whose hyperparameters the program calls invalid is replaced by another draw.
    bool replaces_invalid_trials;
    Result<std::uint64_t, Refusals> (*count_trials)(SearcherSpec const& searcher, Space const& space);
    /// The point of trial `index`; `count` is the number of planned trials. next_point and skip_point take
    /// the same numbers from `random`.
    Json (*next_point)(Space const& space, std::uint32_t index, std::uint32_t count, NumpyRandom& random);
    void (*skip_point)(Space const& space, NumpyRandom& random);
};

/// \return the method of that name; codes::not_supported if there is none
Result<Method const*, Refusals> find_method(std::string const& name);

/// Formats the axes with more than one point for messages, like "a 100 x b 20"; at most eight of them.
std::string describe_grid(Space const& space);

}  // namespace det::search
