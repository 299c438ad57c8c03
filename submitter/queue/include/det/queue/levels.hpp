#pragma once
#include <cstdint>

namespace det::queue {

/// Priorities as Determined's users know them: 1 is the most urgent, 42 what everything has that nobody
/// changed.
constexpr int most_urgent_level = 1;
constexpr int default_level = 42;
constexpr int least_urgent_level = 99;

/// The nice that experiments are submitted with. An owner may lower a nice to 0 and no further: without this
/// room a job could be moved back among one's own, and never forward again. It costs as much as it gives:
/// until it is moved, an experiment lets a job of nice 0 pass that would else be behind it by less than this.
constexpr std::int64_t base_nice = 100;

/// What a level is for an owner, who can't set priorities: 0 for level 1, base_nice for level 42, 239 for 99.
std::int64_t nice_of_level(int level);

/// What a level is for an operator: below 42 before everything that Slurm computes, above 42 behind it.
/// Level 42 is none: such a job goes back to the priority that Slurm computes.
std::uint32_t priority_of_level(int level);

}  // namespace det::queue
