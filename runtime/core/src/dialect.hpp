#pragma once
#include <det/foundation/environment.hpp>

#include <string_view>

namespace det::core {

/// The variables in which a launcher says who a rank is.
struct Dialect {
    std::string_view marker;  // set beside `rank` by this one, and by none of those behind it
    std::string_view rank, size, local_rank, local_size;
    std::string_view cross_rank = {}, cross_size = {};  // empty: not said
    /// What its ranks have in common and no other job on this node at the same time; empty: nothing.
    std::string_view job = {};
    bool numbers_nodes = true;           // else the run does it better, where there is one
    bool starts_ranks_in_steps = false;  // each in a step of its own
};

/// Null where no launcher has started this process.
Dialect const* find_dialect(Environment const& environment);

}  // namespace det::core
