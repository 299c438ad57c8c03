#pragma once
#include <map>
#include <string>

#include "live_round.hpp"

namespace det::faults {

/// What an undisturbed training has reported, and the checksums of its weights.
struct Reference {
    std::map<std::uint64_t, std::string> reports;  // by step; of the group TrainingKind::reports
    std::string weights;
};
Reference reference_of(TrainingKind const& kind, Observation const& observation);

/// The verdicts of a round by name. "": as it should be; "not tried": does not apply; else what is wrong.
/// `books` asks Slurm's accounting, if the site has one.
std::map<std::string, std::string> judge_round(LiveTraining const& training, RoundPlan const& plan,
                                               Observation const& observation, Reference const& reference,
                                               bool has_accounting);

/// The recorded causes of all runs, for the results: "0.0 failed, 0.1 finished".
std::string describe_causes(Observation const& observation);

}  // namespace det::faults
