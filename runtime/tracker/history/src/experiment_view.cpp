#include <det/slurm/resubmit_tasks.hpp>
#include <det/tracker/history/experiment_view.hpp>

#include <algorithm>

namespace det::tracker::history {
namespace {

/// Finds out whether a job is the experiment's. Other jobs may have its numbers: a slurmctld that was reset
/// begins with the first number again.
class JobOwner {
public:
    explicit JobOwner(ExperimentRecord const& record) {
        if (record.spec) comment_ = slurm::comment_of_jobs(*record.spec);
    }
    bool owns(slurm::JobStatus const& job) const { return !comment_ || job.comment == *comment_; }

private:
    std::optional<std::string> comment_;
};

std::set<std::uint32_t> find_foreign_jobs(JobOwner const& owner, QueueSnapshot const& queue,
                                          std::vector<ArrayJob> const& arrays) {
    std::set<std::uint32_t> foreign;
    for (auto const& array : arrays) {
        bool const is_ours = std::ranges::all_of(queue.with_number(array.job),
                                                 [&](auto const& job) { return owner.owns(job); });
        if (!is_ours) foreign.insert(array.job);
    }
    return foreign;
}

/// Finds the job of a task. Slurm may show pending tasks together, with the id of the array only.
std::optional<slurm::JobStatus> find_task(JobOwner const& owner, QueueSnapshot const& queue,
                                          std::optional<slurm::JobRef> const& task) {
    if (!task) return std::nullopt;
    auto const jobs = queue.with_number(task->job);
    for (auto const& ref : {*task, slurm::JobRef{task->job, {}}}) {
        auto const found = std::ranges::lower_bound(jobs, ref, {}, &slurm::JobStatus::ref);
        if (found != jobs.end() && found->ref == ref && owner.owns(*found)) return *found;
    }
    return std::nullopt;
}

/// \return A task of the experiment's arrays that has not ended, because it may claim a waiting trial; if
/// there is none, a task that has ended; nullopt if Slurm shows no task of these arrays.
std::optional<slurm::JobStatus> find_active_task(JobOwner const& owner, QueueSnapshot const& queue,
                                                 std::vector<ArrayJob> const& arrays) {
    slurm::JobStatus const* best = nullptr;
    for (auto const& array : arrays) {
        for (auto const& job : queue.with_number(array.job)) {
            if (!owner.owns(job)) continue;
            if (best == nullptr || (slurm::is_over(best->state) && !slurm::is_over(job.state))) best = &job;
        }
    }
    return best == nullptr ? std::nullopt : std::optional(*best);
}

/// \return The earlier of two times. nullopt counts as later than every time.
std::optional<UtcTime> earlier(std::optional<UtcTime> a, std::optional<UtcTime> b) {
    return a && (!b || *a < *b) ? a : b;
}

}  // namespace

QueueSnapshot::QueueSnapshot(bool slurm_answered, std::vector<slurm::JobStatus> jobs)
    : answered_(slurm_answered), jobs_(std::move(jobs)) {
    std::ranges::stable_sort(jobs_, {}, &slurm::JobStatus::ref);
}

std::span<slurm::JobStatus const> QueueSnapshot::with_number(std::uint32_t job) const {
    auto const number = [](slurm::JobStatus const& status) { return status.ref.job; };
    auto const found = std::ranges::equal_range(jobs_, job, {}, number);
    return {found.begin(), found.end()};
}

std::optional<slurm::JobRef> ExperimentRecord::task_of(std::uint32_t trial) const {
    if (tasks_claim_trials()) return trial < trials.size() ? trials[trial].claimed_by : std::nullopt;
    auto const planned = planned_trial(trial);
    auto const array = find_array_of(arrays(), planned);
    if (!array) return std::nullopt;
    if (array->is_plain_job) return slurm::JobRef{array->job, {}};
    return slurm::JobRef{array->job, array->task_of(planned)};
}

std::uint32_t ExperimentRecord::trial_count() const {
    if (!spec) return 0;
    return replacements.empty() ? spec->trial_count : replacements.rbegin()->first + 1;
}

std::uint32_t ExperimentRecord::planned_trial(std::uint32_t trial) const {
    return journal::find_planned_trial(replacements, trial);
}

std::optional<UtcTime> TrialView::started() const {
    std::optional<UtcTime> first;
    for (auto const& run : record.runs) {
        if (run.started) first = earlier(first, run.started->time);
    }
    return first;
}

std::optional<UtcTime> TrialView::ended() const {
    std::optional<UtcTime> last;
    for (auto const& run : record.runs) {
        if (run.ended) last = std::max(last, std::optional(run.ended->time));
    }
    return lifecycle::is_terminal(state) ? last : std::nullopt;
}

std::vector<ArrayJob> ExperimentView::own_arrays() const {
    auto arrays = record.arrays();
    std::erase_if(arrays, [&](auto const& array) { return foreign_jobs.contains(array.job); });
    return arrays;
}

std::optional<UtcTime> ExperimentView::started() const {
    std::optional<UtcTime> first;
    for (auto const& trial : trials) first = earlier(first, trial.started());
    return first;
}

std::optional<UtcTime> ExperimentView::ended() const {
    std::optional<UtcTime> last;
    for (auto const& trial : trials) last = std::max(last, trial.ended());
    return lifecycle::is_terminal(state) ? last : std::nullopt;
}

ExperimentView view_experiment(ExperimentRecord record, QueueSnapshot const& queue) {
    JobOwner const owner(record);
    std::vector<TrialView> trials;
    std::vector<lifecycle::State> states;
    auto const active =
        record.tasks_claim_trials() ? find_active_task(owner, queue, record.arrays()) : std::nullopt;
    for (auto const& trial : record.trials) {
        bool const is_unclaimed = record.tasks_claim_trials() && !trial.claimed_by;
        auto task = is_unclaimed ? active : find_task(owner, queue, record.task_of(trial.id.index));
        auto const desired = stricter(record.desired, trial.desired);
        auto const first_run = record.spec ? record.spec->first_run_of(trial.id.index) : 0;
        // The replacement of a trial exists before the trial's end is recorded.
        bool const is_replaced = journal::find_replacement(record.replacements, trial.id.index).has_value();
        bool const is_replacement = record.replacements.contains(trial.id.index);
        states.push_back(is_replaced ? lifecycle::State::completed
                                     : lifecycle::state_of_trial({trial.runs, desired, queue.answered(), task,
                                                                  first_run, is_unclaimed, is_replacement}));
        trials.push_back({trial, states.back(), std::move(task)});
    }
    bool const is_created = !record.arrays().empty();
    auto const state = lifecycle::state_of_experiment(is_created, record.desired, states);
    auto foreign = find_foreign_jobs(owner, queue, record.arrays());
    return {std::move(record), state, std::move(trials), std::move(foreign)};
}

bool is_interrupted(lifecycle::RunView const& run) {
    if (!run.ended) return false;
    auto const cause = run.ended->cause;
    return cause == Cause::preempted || cause == Cause::paused || cause == Cause::time_limit;
}

std::vector<Interruption> interruptions_of(std::vector<lifecycle::RunView> const& runs,
                                           std::vector<RunReports> const& reports) {
    std::vector<Interruption> interruptions;
    for (std::size_t i = 0; i < runs.size() && i < reports.size(); ++i) {
        if (!is_interrupted(runs[i])) continue;
        auto& found = interruptions.emplace_back();
        found.run = static_cast<std::uint32_t>(i);
        found.ended = runs[i].ended->time;
        found.queued = runs[i].queued_again;
        auto const& own = reports[i];
        if (own.acknowledged) {
            found.noticed = own.acknowledged->noticed;
            found.acknowledged = own.acknowledged->time;
            auto const& saves = own.checkpoints;
            if (!saves.empty() && saves.back().time >= own.acknowledged->time)
                found.saved = saves.back().time;
        }
        if (i + 1 == runs.size() || i + 1 == reports.size()) continue;
        if (runs[i + 1].started) found.started = runs[i + 1].started->time;
        found.trained = reports[i + 1].first_step;
    }
    return interruptions;
}

}  // namespace det::tracker::history
