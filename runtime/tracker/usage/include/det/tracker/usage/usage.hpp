#pragma once
#include <det/foundation/clock.hpp>
#include <det/protocol/ids.hpp>

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace det::tracker::usage {

/// What a slot was used for.
enum class Use : std::uint8_t {
    training,            // training that no later run repeated
    waiting,             // a rank waited for other ranks, in a collective operation
    saving,              // the training waited for a checkpoint
    starting,            // until a run's first step: from the job's start, or from the end of the run before
    ending,              // from the end of the job's last run until the end of the job
    idle,                // a spare node, or a share of a job without a trial
    redone,              // training of a failed run after the last checkpoint that was used
    lost_to_preemption,  // as `redone`, of a run that Slurm or the user interrupted
    lost_to_node,        // as `redone`, of a run whose node failed or whose supervisor was killed
};
inline constexpr std::size_t use_count = 9;

/// The name of a use: "lost_to_node".
std::string_view to_string(Use use);

/// A checkpoint of a run, and how long the training waited for it.
struct Save {
    UtcTime committed;
    std::int64_t blocked_us = 0;  // how long the training waited, until `committed`
};

/// The phases of a run.
struct RunPhases {
    TrialId trial;
    std::uint32_t run = 0;
    std::uint32_t slots = 0;
    UtcTime begun;
    std::optional<UtcTime> ended;    // empty: it runs, or its end was not recorded
    std::optional<UtcTime> trained;  // when its training began; empty: it did not begin
    std::vector<Save> saves;         // in order
    /// Training after this time is lost: see `lost_as`. nullopt: all is kept.
    std::optional<UtcTime> kept_until;
    Use lost_as = Use::redone;
    std::string cause;                // cause of the run's end; empty: no end was recorded
    std::string start_cause;          // "first", or the cause of the end of the run before, or "unknown"
    std::int64_t waited_slot_us = 0;  // sum over its ranks of the time that they waited for others
};

/// The source of the end of an allocation.
enum class EndSource : std::uint8_t {
    slurm,       // Slurm showed it
    requeue,     // the time at which Slurm queued the job again
    journal,     // the recorded end of the last run, or its last report
    running,     // the allocation has not ended: until now
    accounting,  // Slurm's accounting has it
};
std::string_view to_string(EndSource source);

/// One execution of a Slurm job: a job that was requeued has several.
struct Allocation {
    std::string job;  // "123_4"
    std::uint32_t restart_count = 0;
    std::optional<UtcTime> submitted;  // or queued again
    UtcTime started;
    UtcTime ended;
    EndSource end_source = EndSource::journal;
    std::uint32_t nodes = 0;
    std::uint32_t slots = 0;  // of all nodes
    std::vector<RunPhases> runs;

    std::int64_t slot_us() const { return (ended.microseconds - started.microseconds) * std::int64_t{slots}; }
};

/// Slot time by use, in slot-microseconds.
struct Usage {
    std::array<std::int64_t, use_count> by_use{};
    /// Parts of by_use with their cause: of `starting`, RunPhases::start_cause; of training that was lost,
    /// RunPhases::cause, or "unknown".
    std::map<std::pair<Use, std::string>, std::int64_t> by_cause;

    std::int64_t of(Use use) const { return by_use.at(static_cast<std::size_t>(use)); }
    std::int64_t total() const;
    void add(Use use, std::int64_t slot_us, std::string const& cause = {});
    Usage& operator+=(Usage const& other);
};

/// Divides the slot time of an allocation. The parts sum to allocation.slot_us(), whatever the times of its
/// runs are: parts of runs outside of the allocation do not count, and runs beyond its slots get none. Pure.
Usage divide(Allocation const& allocation);

}  // namespace det::tracker::usage
