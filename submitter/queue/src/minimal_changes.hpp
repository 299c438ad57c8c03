#pragma once
#include <cstdint>
#include <optional>
#include <vector>

namespace det::queue {

/// One of a row that is to stand in a given order.
struct OrderedJob {
    std::uint32_t job = 0;
    std::int64_t priority = 0;         // now
    std::int64_t lowest_priority = 0;  // of its tasks
    std::int64_t highest_allowed = 0;  // what it can be changed to
    bool is_fixed = false;             // it can't be changed at all
};

/// New priorities for as few as possible of the row, so that it stands in this order; nothing for those
/// that stay. No value where that can't be. Those that change get as near to what they have as can be.
std::optional<std::vector<std::optional<std::int64_t>>> minimal_changes(std::vector<OrderedJob> const& order);

}  // namespace det::queue
