#pragma once
#include <cstdint>
#include <optional>
#include <vector>

namespace det::queue {

/// A job of the requested order.
struct OrderedJob {
    std::uint32_t job = 0;
    std::int64_t priority = 0;         // now
    std::int64_t lowest_priority = 0;  // of the job's tasks
    std::int64_t highest_allowed = 0;  // the highest priority that the caller can give it
    bool is_fixed = false;             // the caller cannot change it
};

/// Computes new priorities for as few jobs as possible, so that the jobs get the given order.
/// \return One entry per job: its new priority, as close to the present one as possible, or nothing if it
/// keeps its priority. No value if the order is impossible.
std::optional<std::vector<std::optional<std::int64_t>>> minimal_changes(std::vector<OrderedJob> const& order);

}  // namespace det::queue
