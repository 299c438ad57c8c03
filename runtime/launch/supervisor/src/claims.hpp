#pragma once
#include <det/journal/trial_replacements.hpp>
#include <det/launch/supervisor/batch_job.hpp>

#include <optional>
#include <set>
#include <vector>

namespace det::launch::supervisor {

/// The trials that this job runs. Usually the job runs the trial of its array task, or the trial that
/// replaces it if its hyperparameters were invalid. If trials share nodes or there are fewer tasks than
/// trials (ExperimentSpec::claims_trials), the job runs the trials that it claims: it creates
/// trials/N/claimed with link(2), and the file contains the job id of the array task.
class Claims {
public:
    explicit Claims(BatchJob const& batch_job)
        : batch_job_(batch_job),
          may_have_earlier_claims_(batch_job.incarnation.restart_count > 0 || batch_job.is_started_again) {}

    /// Claims the next trial that no other task runs and that the user has not paused or cancelled. First
    /// come replacements of this task's trials and the trials that this task had claimed before it was
    /// requeued, then free trials, beginning with that of its array task. nullopt if none is left.
    Result<std::optional<std::uint32_t>> claim_next();
    /// What claim_first_of() has found.
    struct Found {
        std::optional<std::uint32_t> trial = {};    // claimed
        std::vector<slurm::JobRef> claimants = {};  // tasks that have claimed others of the trials
    };
    /// Claims the first of these trials that no other task has claimed and that the user has not paused or
    /// cancelled. Gives up earlier claims of this task on trials that are none of them. Used if the sampler
    /// sets lengths: a trial is claimed for each of its runs.
    Result<Found> claim_first_of(std::vector<std::uint32_t> const& trials);
    /// The trials of this job that may have a run: those that it has claimed and that have not ended, or the
    /// trial of its array task, and those that replace it. Claims nothing.
    Result<std::vector<std::uint32_t>> list_own() const;
    /// Whether a trial is left that no task has claimed, that has not ended and that the user has not stopped
    /// by itself. False unless tasks claim trials.
    Result<bool> has_unclaimed() const;
    /// Returns the trial that replaces one with invalid hyperparameters, and creates it if there is none.
    /// This job runs it next. nullopt if the searcher replaces no trials, or if too many trials in a row have
    /// been replaced.
    Result<std::optional<std::uint32_t>> claim_replacement(std::uint32_t trial);
    /// Removes the claim, so that any job may claim the trial later. Used only if tasks claim trials.
    Status release(std::uint32_t trial);
    /// Removes the claims of this task on all trials that have not ended.
    Status release_all();

private:
    Result<std::optional<std::uint32_t>> claim_assigned();
    Result<std::optional<std::uint32_t>> claim_free();
    Result<std::vector<std::uint32_t>> load_own_claims() const;
    Result<std::vector<std::uint32_t>> find_own_claims();
    Result<journal::Replacements> load_replacements() const;
    std::string own_claim() const;
    Result<std::vector<std::uint32_t>> list_trials() const;

    BatchJob const& batch_job_;
    bool may_have_earlier_claims_;
    std::vector<std::uint32_t> pending_;   // claimed and not run yet: before a requeue, or as replacements
    std::set<std::uint32_t> ended_;        // found by claim_first_of()
    std::set<std::uint32_t> unavailable_;  // claimed by this task or another one, or ended
};

}  // namespace det::launch::supervisor
