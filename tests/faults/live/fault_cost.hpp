#pragma once
#include <det/protocol/json.hpp>

#include <filesystem>
#include <optional>
#include <string>

#include "live_round.hpp"

namespace det::faults {

/// What a fault has cost a training that reports each step.
///
/// A new step is one that no run has reported before. Without faults the time between two new steps is that
/// of a step; the median of a round is taken for it. What a longer time between two new steps after the fault
/// exceeds it by is lost: the training stood still, or trained again what it had trained.
struct FaultCost {
    double lost_s = 0;
    double again_s = 0;  // the part of lost_s in which steps were trained again
    std::uint64_t again_steps = 0;
    double step_s = 0;  // of a step, without the fault
    std::string from;   // "memory", "checkpoint", "beginning": where later runs began; "": the run went on
    std::uint32_t slots = 0;  // of the training; those of spare nodes do not count
};

/// nullopt: the kind does not report each step, the fault did not take place, the clocks of the reports
/// jump, no step was new after the fault, or the training has not reported its last step. Pure.
std::optional<FaultCost> measure_cost(RoundPlan const& plan, Observation const& observation);

/// For the results file.
Json to_json(FaultCost const& cost);

/// The first seed of plan_cost_round().
constexpr std::uint32_t cost_seed_begin = 100'001;
/// Consecutive seeds go through all pairs of a failure and one of the cost_kinds(). The fault comes during
/// the training.
RoundPlan plan_cost_round(std::uint32_t seed);
/// The number of these pairs.
std::uint32_t count_cost_pairs();

/// Tables in Markdown: the slot-seconds that each kind of fault has cost, and the share of slot-seconds that
/// is kept if one fault comes in each 30 minutes of the job's time, all kinds equally often. Rounds without a
/// cost and rounds with a wrong verdict are counted. Rounds of the usual campaign are left out.
std::string summarise_costs(std::filesystem::path const& results);

}  // namespace det::faults
