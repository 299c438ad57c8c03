#pragma once
#include <det/protocol/json.hpp>

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "live_fault.hpp"

namespace det::faults {

/// What a seed determines: a kind of training, a fault and the moment of the fault.
struct RoundPlan {
    std::uint32_t seed = 0;  // 0: no fault
    TrainingKind const* kind = nullptr;
    LiveFault const* fault = nullptr;
    std::uint64_t step = 0;           // the fault comes after this step; 0: after the start of the first run
    std::chrono::milliseconds delay;  // after that moment

    std::string moment() const;
};

/// Consecutive seeds go through all pairs of a kind and a fault, in a fixed random order.
RoundPlan plan_round(std::uint32_t seed);
/// A training without a fault.
RoundPlan plan_undisturbed(TrainingKind const& kind);

/// A report: trial, run, group, step, and its metrics as JSON text. A step may have several reports.
using Reports = std::set<std::tuple<std::uint32_t, std::uint32_t, std::string, std::uint64_t, std::string>>;
Reports reports_of(Snapshot const& snapshot);

/// What a round observed, from which its verdicts follow.
struct Observation {
    bool injected = false;
    UtcTime injected_at;
    std::optional<FaultTarget> target;
    Reports seen;       // reports that were visible at any time
    std::string notes;  // about the fault
    int activations = 0;
    std::string state;      // of the experiment, at the end
    std::string remaining;  // processes and jobs that remained
    std::string hang;       // what was waited for until the deadline
    std::size_t runs_at_end = 0;
    std::set<std::pair<std::uint32_t, std::uint32_t>> continued_from_memory;  // trial and run
    Snapshot final;
    std::map<std::uint32_t, LiveTraining::Trace> trace;
};

/// Plays one round: creates the training, injects the fault, and waits for the end.
class LiveRound {
public:
    LiveRound(LiveTraining& training, RoundPlan const& plan)
        : training_(training), plan_(plan), random_(plan.seed) {}
    Result<Observation> play();

private:
    bool wait_for(std::string const& what, std::chrono::seconds limit,
                  std::function<Result<bool>()> const& condition);
    Result<bool> is_moment_reached();
    Status inject();
    Result<bool> has_ended();
    Result<bool> is_over();
    Status observe();

    LiveTraining& training_;
    RoundPlan plan_;
    std::mt19937 random_;
    Observation seen_;
    Status error_ = Ok{};
    std::chrono::steady_clock::time_point next_query_ = {};
};

}  // namespace det::faults
