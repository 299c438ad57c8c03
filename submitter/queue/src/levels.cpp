#include <det/queue/levels.hpp>

namespace det::queue {
namespace {

// priority/basic counts down from here; the priorities of priority/multifactor are far below this value.
constexpr std::uint32_t above_all_computed = 4'294'901'760;

}  // namespace

std::int64_t nice_of_level(int level) {
    return (level - most_urgent_level) * base_nice / (default_level - most_urgent_level);
}

std::uint32_t priority_of_level(int level) {
    if (level < default_level) return above_all_computed + static_cast<std::uint32_t>(default_level - level);
    return static_cast<std::uint32_t>(least_urgent_level + 1 - level);  // never 0, which means held
}

}  // namespace det::queue
