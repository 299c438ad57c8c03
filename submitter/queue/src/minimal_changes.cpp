// Finds the most jobs that can keep their priority, by dynamic programming from the front. The jobs between
// two unchanged jobs get the highest possible priorities; if the second unchanged job is still below these,
// both can stay. A job's priority has only an upper bound: the priority of the job before it. So the highest
// possible values restrict the jobs behind them the least.
#include "minimal_changes.hpp"

#include <algorithm>
#include <limits>

namespace det::queue {
namespace {

constexpr std::int64_t lowest = 1;  // 0 is a held job
constexpr std::int64_t unbounded = std::numeric_limits<std::int64_t>::max();

/// \return The highest priority of a job directly behind one of this priority: the same if its number is
/// higher.
std::int64_t bound_behind(std::int64_t priority, std::uint32_t before, std::uint32_t behind) {
    return before < behind ? priority : priority - 1;
}

/// The upper bound that the jobs so far set for the next one.
struct Bound {
    std::int64_t priority = unbounded;
    std::uint32_t job = 0;
    std::int64_t for_next(std::uint32_t next) const {
        return priority == unbounded ? unbounded : bound_behind(priority, job, next);
    }
};

struct PartialOrder {
    int kept = -1;           // -1: impossible
    std::int64_t loss = 0;   // sum of the priorities that the other jobs lose
    std::size_t before = 0;  // index of the previous unchanged job, plus 1; 0: none

    bool is_better_than(PartialOrder const& other) const {
        return kept != other.kept ? kept > other.kept : loss < other.loss;
    }
};

/// best[i + 1] describes the best solution for the jobs up to i in which job i is unchanged. best[0] stands
/// for the place before the first job, the last entry for the place behind the last job.
std::vector<PartialOrder> find_best(std::vector<OrderedJob> const& order) {
    std::vector<PartialOrder> best(order.size() + 2);
    best[0].kept = 0;
    for (std::size_t from = 0; from <= order.size(); ++from) {
        if (best[from].kept < 0) continue;
        Bound bound;
        if (from > 0) bound = {order[from - 1].lowest_priority, order[from - 1].job};
        auto loss = best[from].loss;
        // Tries each job behind `from` as the next unchanged one, and then counts it as changed.
        for (std::size_t next = from; next <= order.size(); ++next) {
            bool const is_end = next == order.size();
            bool const may_stay = is_end || order[next].priority <= bound.for_next(order[next].job);
            PartialOrder const found{best[from].kept + (is_end ? 0 : 1), loss, from};
            if (may_stay && found.is_better_than(best[next + 1])) best[next + 1] = found;
            if (is_end || order[next].is_fixed) break;
            bound = {std::min(bound.for_next(order[next].job), order[next].highest_allowed), order[next].job};
            if (bound.priority < lowest) break;
            loss += std::max<std::int64_t>(0, order[next].priority - bound.priority);
        }
    }
    return best;
}

std::vector<bool> find_unchanged(std::vector<PartialOrder> const& best, std::size_t size) {
    std::vector<bool> stays(size, false);
    for (auto at = best[size + 1].before; at > 0; at = best[at].before) stays[at - 1] = true;
    return stays;
}

}  // namespace

std::optional<std::vector<std::optional<std::int64_t>>> minimal_changes(
    std::vector<OrderedJob> const& order) {
    auto const best = find_best(order);
    if (best.back().kept < 0) return std::nullopt;
    auto const stays = find_unchanged(best, order.size());
    std::vector<std::int64_t> highest(order.size());
    Bound bound;
    for (std::size_t i = 0; i < order.size(); ++i) {
        highest[i] =
            stays[i] ? order[i].priority : std::min(bound.for_next(order[i].job), order[i].highest_allowed);
        bound = {stays[i] ? order[i].lowest_priority : highest[i], order[i].job};
    }
    std::vector<std::optional<std::int64_t>> changes(order.size());
    std::int64_t needed = lowest;  // lowest priority that keeps job i ahead of the next one
    for (std::size_t i = order.size(); i-- > 0;) {
        auto value = order[i].priority;
        if (!stays[i]) {
            if (i + 1 < order.size() && order[i].job > order[i + 1].job) ++needed;
            value = std::clamp(order[i].priority, needed, highest[i]);
            changes[i] = value;
        }
        needed = value;
    }
    return changes;
}

}  // namespace det::queue
