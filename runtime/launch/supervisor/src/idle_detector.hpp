#pragma once
#include <det/foundation/clock.hpp>
#include <det/journal/tail.hpp>
#include <det/protocol/directory_layout.hpp>
#include <det/protocol/experiment_spec.hpp>
#include <det/protocol/node_usage.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace det::launch::supervisor {

/// slurm.idle_timeout.
struct IdlePolicy {
    std::chrono::seconds after{0};
    bool ends_run = false;  // action: end; otherwise the run is only warned of
};

/// \return nullopt if the experiment does not set it
std::optional<IdlePolicy> find_idle_policy(ExperimentSpec const& spec);

/// What is known about the use of a run's nodes.
struct RunUse {
    std::vector<std::optional<NodeUsage>> nodes = {};  // nullopt: the node has measured nothing yet
    bool has_trained = false;                          // the first step was reported
    std::uint64_t saves_begun = 0;                     // checkpoints so far
    bool is_saving = false;                            // the last one is not committed
};

/// Decides whether a run is idle: each of its nodes has been, for slurm.idle_timeout. Pure; times are those
/// of a monotonic clock.
///
/// Nodes count the time for which their use was below the limit (telemetry/system/usage_meter.hpp). Here it
/// counts from when the run may be expected to work: its first reported step, or the timeout after its begin,
/// because not every program reports steps. A checkpoint that is being saved begins the time anew, for a
/// timeout at most, because a save that fails has no end. So do a check that comes late, since the job was
/// probably suspended then, and a node that measures no more.
class IdleDetector {
public:
    using Time = std::chrono::steady_clock::time_point;

    /// \param timeout nullopt: the run is never idle
    IdleDetector(std::optional<std::chrono::seconds> timeout, Time begin);

    /// When check() must be called; nullopt: never.
    std::optional<Time> next_check() const;
    /// Returns for how long the run has been idle, once it is idle: once until it works again.
    std::optional<std::chrono::seconds> check(RunUse const& use, Time now);

private:
    struct NodeState {
        std::uint64_t windows = 0;
        Time changed_at = {};
    };

    std::chrono::milliseconds interval() const { return usage_window(*timeout_); }
    static bool works_again(RunUse const& use);
    bool may_rest(RunUse const& use, Time now);
    /// The shortest time for which a node has been idle; nullopt: a node is not, or is not measured.
    std::optional<std::chrono::milliseconds> shortest_idle_time(RunUse const& use, Time now);

    std::optional<std::chrono::seconds> timeout_;
    Time begin_, counted_since_, next_check_at_, save_seen_at_ = {};
    std::uint64_t saves_seen_ = 0;
    std::vector<NodeState> nodes_;
    bool was_reported_ = false;
};

/// Reads what IdleDetector needs from the files of a run.
class RunUseReader {
public:
    explicit RunUseReader(RunLayout run) : run_(std::move(run)), reports_(run_.chief_journal()) {}

    RunUse read(int nodes);

private:
    void read_reports();

    RunLayout run_;
    journal::JournalTail reports_;
    RunUse use_;
};

/// "its GPUs were used less than 5 % for 1800 s".
std::string describe_idle(SlotType slot_type, std::chrono::seconds idle);

}  // namespace det::launch::supervisor
