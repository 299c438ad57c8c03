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

/// How many checkpoints an experiment keeps. 0, 0, 0 keeps none.
struct GcPolicy {
    std::uint64_t save_experiment_best = 0;
    std::uint64_t save_trial_best = 1;
    std::uint64_t save_trial_latest = 1;
    friend bool operator==(GcPolicy const&, GcPolicy const&) = default;
};

/// As configured, and what `experiment set gc-policy` changed since. Pure.
GcPolicy policy_of(ExperimentSpec const& spec, std::vector<Event> const& events);

/// The kind of the event that changes it; to_json is its body.
inline constexpr std::string_view gc_policy_event = "retained";
Json to_json(GcPolicy const& policy);

/// A checkpoint that is there, and how the trial validated at that step.
struct KnownCheckpoint {
    std::string uuid;
    std::uint32_t trial = 0;
    std::uint64_t steps_completed = 0;
    std::optional<double> metric = {};  // nothing: never validated
    std::uint64_t size_bytes = 0;
};

/// UUIDs of those that stay. Oldest first in, so that of two that are equally good the earlier one stays. Of
/// one trial, those of the same step count as one. Pure.
std::set<std::string> choose_kept(GcPolicy const& policy, bool smaller_is_better,
                                  std::span<KnownCheckpoint const> checkpoints);

}  // namespace det::retention
