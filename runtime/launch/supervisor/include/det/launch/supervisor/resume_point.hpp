#pragma once
#include <det/checkpoint/store.hpp>
#include <det/protocol/layout.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace det::launch::supervisor {

/// Where a run of a trial begins, by what the runs before it left.
struct ResumePoint {
    std::uint32_t restarts = 0;  // runs that failed
    std::string checkpoint;      // UUID of the newest that is committed; empty: from the beginning
    std::uint64_t steps_completed = 0;
    std::uint32_t failures_without_progress = 0;  // the last ones in a row: no higher step was committed
    std::uint32_t slurm_failures_in_a_row = 0;    // the last ones that ended by Slurm or its nodes
    bool has_begun_before = false;                // a task of one of them has begun
    std::vector<std::string> bad_hosts = {};      // nodes that no further run may have
    bool is_predecessor_lost =
        false;  // the last run has no end: it may still go on, on a node that is cut off
    std::string checkpoint_path = {};  // its directory, where the store has one for all nodes
};

/// Runs of a trial, by their numbers.
struct RunRange {
    std::uint32_t first_that_counts = 0;  // see ExperimentSpec::first_run_of
    std::uint32_t end = 0;                // not itself
};

/// Reads the journals of all runs before `end`. Checkpoints are those of all of them, failures those that
/// count. A checkpoint whose manifest is gone or damaged is passed over for the one before it.
Result<ResumePoint> find_resume_point(TrialLayout const& trial, RunRange runs,
                                      checkpoint::Store const& store);

/// Whether any task of the run has begun, on any node.
bool has_begun(RunLayout const& run);

/// Whether its last run was recorded as the end, and counts.
Result<bool> has_ended(TrialLayout const& trial, std::uint32_t first_run);

}  // namespace det::launch::supervisor
