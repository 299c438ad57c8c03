#pragma once
#include <det/foundation/result.hpp>

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace det {

/// The number of an experiment, from 1. mkdir of experiments/<id> makes it unique within a root.
struct ExperimentId {
    std::uint32_t value = 0;
    friend auto operator<=>(ExperimentId const&, ExperimentId const&) = default;
};

/// A trial of an experiment; `index` counts from 0.
struct TrialId {
    ExperimentId experiment;
    std::uint32_t index = 0;
    friend auto operator<=>(TrialId const&, TrialId const&) = default;
};

/// One run of a trial. `number` counts from 0 across restarts, preemptions and pauses.
struct RunId {
    TrialId trial;
    std::uint32_t number = 0;
    friend auto operator<=>(RunId const&, RunId const&) = default;
};

/// The number of a worker process of a trial, from 0. Rank 0 is the chief.
struct Rank {
    int value = 0;
    friend auto operator<=>(Rank const&, Rank const&) = default;
};

/// The integer form of a trial id is experiment * trials_per_experiment_max + index.
inline constexpr std::uint32_t trials_per_experiment_max = 1'000'000;

std::string to_string(ExperimentId id);  // "7"
std::string to_string(TrialId id);       // "7.3"
std::string to_string(RunId id);         // "7.3.2"
std::int64_t to_integer(TrialId id);     // 7000003

std::optional<ExperimentId> parse_experiment_id(std::string_view text);
/// Parses both "7.3" and "7000003".
std::optional<TrialId> parse_trial_id(std::string_view text);

}  // namespace det
