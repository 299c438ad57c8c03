#pragma once
#include <det/protocol/rank_failure.hpp>
#include <det/tracker/history/history.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace det::tracker::usage {

/// Where the time of a fault comes from.
enum class FaultSource : std::uint8_t {
    rank,    // the end of the first rank that failed, as its node recorded it
    report,  // the last report of the run: a lost node records nothing
    end,     // the recorded end of the run, or its start if it has none
};
std::string_view to_string(FaultSource source);

/// What a run went on from.
enum class StateSource : std::uint8_t { memory, checkpoint, beginning };
std::string_view to_string(StateSource source);

/// A fault that ended a run, and the run that followed.
struct Recovery {
    RunId run;               // that followed
    std::string cause;       // of the end of the run before; "unknown" if none was recorded
    std::string nodes = {};  // host list of those that failed; empty: unknown
    UtcTime fault;
    FaultSource fault_source = FaultSource::end;
    std::optional<UtcTime> first_step = {};  // of the run; empty: it has made none
    StateSource from = StateSource::beginning;
    std::uint64_t steps_completed = 0;  // of the state from which it went on
    std::uint64_t repeated_steps = 0;   // that the run before had reported beyond that state
    bool is_same_allocation = false;    // it followed in the same start of the job

    /// From the fault to the first step, in microseconds.
    std::optional<std::int64_t> duration_us() const {
        if (!first_step) return std::nullopt;
        return first_step->microseconds - fault.microseconds;
    }
};

/// The faults of a trial after which another run followed, in order. A preemption, a pause and a time limit
/// are no faults. Pure.
/// \param reports one entry per run
/// \param failures of each run's ranks; missing ones are none
std::vector<Recovery> find_recoveries(history::TrialRecord const& trial,
                                      std::span<history::RunReports const> reports,
                                      std::span<std::vector<RankFailure> const> failures);

}  // namespace det::tracker::usage
