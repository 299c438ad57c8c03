#pragma once
#include <det/checkpoint/store.hpp>
#include <det/protocol/directory_layout.hpp>
#include <det/protocol/ids.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace det::launch::supervisor {

/// A run that was requeued for more nodes.
struct PastGrowth {
    UtcTime ended;
    int nodes = 0;                        // of that run
    std::optional<int> nodes_after = {};  // of the run after it; nullopt: this run begins now
};

/// The state from which a run of a trial starts, taken from the records of the trial's earlier runs.
struct ResumePoint {
    std::uint32_t restarts = 0;  // number of runs that failed
    std::string checkpoint;      // UUID of the newest whole checkpoint; empty: start from scratch
    std::uint64_t steps_completed = 0;
    // Whether a run has committed a checkpoint, or slurm.progress_glob is set
    bool is_progress_visible = false;
    // Newest change of the files of slurm.progress_glob
    std::optional<UtcTime> progress = {};
    // Number of consecutive failures up to now that made no progress
    std::uint32_t failures_without_progress = 0;
    // Number of consecutive runs up to now that made no progress and failed, or ended after a notice with
    // another code than 0 and not by TERM
    std::uint32_t bad_ends_without_progress = 0;
    // Number of consecutive runs up to now that ended because of Slurm or its nodes
    std::uint32_t slurm_failures_in_a_row = 0;
    bool has_begun_before = false;  // a task of an earlier run has started
    std::string last_hosts = {};  // of the last run, compressed; empty: there is none, or it is not recorded
    std::vector<std::string> bad_hosts = {};  // nodes that later runs must not use
    // Whether steps of the last run may live on a node that is cut off from the network: it has no recorded
    // end, or a node of it has failed and the job was queued again
    bool is_previous_run_lost = false;
    std::uint32_t step_ids_to_skip = 0;  // if the previous run is lost: see count_step_ids_to_skip()
    /// The highest run whose tasks may still be running somewhere. Slurm or srun has confirmed the end of all
    /// later runs.
    std::optional<std::uint32_t> may_still_run = {};
    std::vector<PastGrowth> growths = {};  // the runs that were requeued for more nodes, newest first
    std::vector<std::string> damage = {};  // which journals of earlier runs lack records
    std::string checkpoint_path = {};  // the checkpoint's directory, if the store has one that all nodes see
    std::string manifest_sha256 = {};  // of the checkpoint's manifest
    /// An earlier run has reported the checkpoint as damaged, and it is whole now.
    bool was_reported_damaged = false;
    std::vector<Error> passed_over = {};  // why newer checkpoints are not used
    /// Why the trial must not begin at step 0: it has checkpoints, and none can be used.
    std::optional<Error> refusal = {};
};

/// A range of run numbers of a trial.
struct RunRange {
    // Failures are counted from this run on: see ExperimentSpec::first_run_of
    std::uint32_t first_that_counts = 0;
    std::uint32_t end = 0;  // exclusive
};

/// Reads the journals of all runs before `end`. Checkpoints of all of them are used; failures are counted
/// from `first_that_counts`. A checkpoint that must not be used (checkpoint::is_unusable()) is skipped in
/// favour of the one before it. Manifests, owners, names and sizes of files are checked here; a checkpoint
/// whose contents a run has found to be damaged is read whole. A checkpoint that has been removed is skipped
/// silently. If a chief's journal is damaged, the checkpoints of its run are found in the store; a run whose
/// start or end may be among the missing records may still be running.
///
/// \param progress_globs slurm.progress_glob; empty: only checkpoints are progress.
Result<ResumePoint> find_resume_point(TrialLayout const& trial, TrialId id, RunRange runs,
                                      checkpoint::Store const& store,
                                      std::vector<std::string> const& progress_globs = {});

/// Lets a trial without a checkpoint of its own start from the source checkpoint, at step 0.
/// \param source ExperimentSpec::source_checkpoint
/// \return codes::no_such_checkpoint if the source checkpoint is gone, and the error of one that must not be
/// used
Status use_source_checkpoint(std::optional<std::string> const& source, checkpoint::Store const& store,
                             ResumePoint& point);

/// Whether any task of the run has started on any node.
bool has_begun(RunLayout const& run);

/// Whether the trial's last run has number `first_run` or higher and was recorded as the end of the trial.
Result<bool> has_ended(TrialLayout const& trial, std::uint32_t first_run);

}  // namespace det::launch::supervisor
