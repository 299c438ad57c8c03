#pragma once
#include <det/checkpoint/store.hpp>
#include <det/journal/writer.hpp>
#include <det/launch/supervisor/assignment.hpp>
#include <det/launch/supervisor/resume_point.hpp>
#include <det/lifecycle/run_end.hpp>

namespace det::launch::supervisor {

/// One run of a trial as it lies on disk: its directory, which mkdir gives to one incarnation alone, and its
/// life record.
class RunRecord {
public:
    /// The next run of the trial: from here on the chief of an earlier one, wherever it may still go on,
    /// commits nothing more. codes::superseded where somebody else takes it at the same time.
    static Result<RunId> take_next(Assignment const& assignment, TrialId trial);
    /// Of a run that was taken: that it begins, and where.
    static Result<RunRecord> begin(Assignment const& assignment, RunId run, ResumePoint const& resume,
                                   std::string const& hosts, UtcTime now);

    RunId id() const { return id_; }
    RunLayout const& layout() const { return layout_; }

    Status end(UtcTime now, lifecycle::RunVerdict const& verdict, int exit_code);
    /// Slurm has taken the job back into its queue.
    Status queued_again(UtcTime now);
    /// The ranks look for this when they are poked: it says that the signal is meant.
    Status ask_to_stop(lifecycle::Asked why);

    bool was_acknowledged() const;
    /// The exit code that a launcher saw first, if one did.
    std::optional<int> first_failure() const;
    bool has_successor() const;
    /// Numbers of nodes on which none of its tasks began, while some did on others and no rank has failed:
    /// srun could not start them.
    std::vector<int> nodes_not_reached(int nodes) const;
    /// It committed a checkpoint of a higher step than it began with.
    bool has_progressed(std::uint64_t steps_before, checkpoint::Store const& store) const;

private:
    RunRecord(RunId id, TrialLayout trial, RunLayout layout, journal::JournalWriter life)
        : id_(id), trial_(std::move(trial)), layout_(std::move(layout)), life_(std::move(life)) {}

    RunId id_;
    TrialLayout trial_;
    RunLayout layout_;
    journal::JournalWriter life_;
};

}  // namespace det::launch::supervisor
