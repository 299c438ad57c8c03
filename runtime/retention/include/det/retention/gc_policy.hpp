#pragma once
#include <det/protocol/event.hpp>
#include <det/protocol/experiment_spec.hpp>

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace det::retention {

/// How many checkpoints an experiment keeps. If all numbers are 0, it keeps only those that collect_garbage()
/// always keeps.
struct GcPolicy {
    std::uint64_t save_experiment_best = 0;
    std::uint64_t save_trial_best = 1;
    std::uint64_t save_trial_latest = 1;
    friend bool operator==(GcPolicy const&, GcPolicy const&) = default;
};

/// The configured policy with the changes of `experiment set gc-policy` applied. Pure.
GcPolicy policy_of(ExperimentSpec const& spec, std::vector<Event> const& events);

/// The kind of the event that changes the policy; to_json() is its body.
inline constexpr std::string_view gc_policy_event = "retained";
Json to_json(GcPolicy const& policy);

/// A committed checkpoint that the store has, as far as is known, and its validation metric.
struct KnownCheckpoint {
    std::string uuid;
    std::uint32_t trial = 0;
    std::uint64_t steps_completed = 0;
    std::optional<double> metric = {};  // empty: no finite value at that step
    std::uint64_t size_bytes = 0;
};

/// UUIDs of the checkpoints that stay. The checkpoints of each trial must be ordered oldest first. Of two
/// equally good checkpoints the one that comes first in the input stays. save_trial_latest keeps all
/// checkpoints of a step or none of them. Pure.
std::set<std::string> choose_kept(GcPolicy const& policy, bool smaller_is_better,
                                  std::span<KnownCheckpoint const> checkpoints);

}  // namespace det::retention
