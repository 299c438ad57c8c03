#pragma once
#include <cstdint>

namespace det::queue {

/// Determined's priorities: 1 is the most urgent, 42 that of a job without a nice.
constexpr int most_urgent_level = 1;
constexpr int default_level = 42;
constexpr int least_urgent_level = 99;

/// \return The nice of a level: 0 for levels up to 42, 2 for 43, 139 for 99. It is for the owner of a job,
/// whom Slurm allows neither a priority nor a nice below 0.
constexpr std::int64_t nice_of_level(int level) {
    if (level <= default_level) return 0;
    return std::int64_t{100} * (level - default_level) / (default_level - most_urgent_level);
}

/// \return The priority of a level, for operators: for levels below 42 it is above every priority that Slurm
/// computes; for levels above 42 it is at most 57, below every priority that priority/basic computes. Not for
/// level 42: such a job gets the priority that Slurm computes.
constexpr std::uint32_t priority_of_level(int level) {
    // priority/basic counts down from here; the priorities of priority/multifactor are far below this value.
    constexpr std::uint32_t above_all_computed = 4'294'901'760;
    if (level < default_level) return above_all_computed + static_cast<std::uint32_t>(default_level - level);
    return static_cast<std::uint32_t>(least_urgent_level + 1 - level);  // never 0, which means held
}

}  // namespace det::queue
