#include <det/tracker/history/view.hpp>

#include <map>

namespace det::tracker::history {
namespace {

using Jobs = std::map<slurm::JobRef, slurm::JobStatus const*>;

Jobs by_ref(QueueSnapshot const& queue) {
    Jobs jobs;
    for (auto const& job : queue.jobs) jobs.emplace(job.ref, &job);
    return jobs;
}

/// Finds the job of a task. Slurm may show pending tasks together, with the id of the array only.
std::optional<slurm::JobStatus> find_task(Jobs const& jobs, std::optional<slurm::JobRef> const& task) {
    if (!task) return std::nullopt;
    auto found = jobs.find(*task);
    if (found == jobs.end()) found = jobs.find(slurm::JobRef{task->job, {}});
    if (found == jobs.end()) return std::nullopt;
    return *found->second;
}

/// A task of the experiment's arrays that is not over, if there is one. Such a task will claim a waiting
/// trial.
std::optional<slurm::JobStatus> find_active_task(Jobs const& jobs, std::vector<ArrayJob> const& arrays) {
    slurm::JobStatus const* best = nullptr;
    for (auto const& array : arrays) {
        for (auto job = jobs.lower_bound({array.job, {}}); job != jobs.end() && job->first.job == array.job;
             ++job) {
            if (best == nullptr || (slurm::is_over(best->state) && !slurm::is_over(job->second->state)))
                best = job->second;
        }
    }
    return best == nullptr ? std::nullopt : std::optional(*best);
}

}  // namespace

std::optional<UtcTime> TrialView::started() const {
    std::optional<UtcTime> first;
    for (auto const& run : record.runs) {
        if (run.started && (!first || run.started->time < *first)) first = run.started->time;
    }
    return first;
}

std::optional<UtcTime> TrialView::ended() const {
    std::optional<UtcTime> last;
    for (auto const& run : record.runs) {
        if (run.ended && (!last || *last < run.ended->time)) last = run.ended->time;
    }
    return lifecycle::is_terminal(state) ? last : std::nullopt;
}

std::optional<UtcTime> ExperimentView::started() const {
    std::optional<UtcTime> first;
    for (auto const& trial : trials) {
        auto const started = trial.started();
        if (started && (!first || *started < *first)) first = started;
    }
    return first;
}

std::optional<UtcTime> ExperimentView::ended() const {
    std::optional<UtcTime> last;
    if (!lifecycle::is_terminal(state)) return last;
    for (auto const& trial : trials) {
        auto const ended = trial.ended();
        if (ended && (!last || *last < *ended)) last = ended;
    }
    return last;
}

ExperimentView view_experiment(ExperimentRecord record, QueueSnapshot const& queue) {
    auto const jobs = by_ref(queue);
    std::vector<TrialView> trials;
    std::vector<lifecycle::State> states;
    auto const active = record.is_packed() ? find_active_task(jobs, record.arrays()) : std::nullopt;
    for (auto const& trial : record.trials) {
        bool const waits_for_lane = record.is_packed() && !trial.claimed_by;
        auto task = waits_for_lane ? active : find_task(jobs, record.task_of(trial.id.index));
        auto const desired = stricter(record.desired, trial.desired);
        auto const first_run = record.spec ? record.spec->first_run_of(trial.id.index) : 0;
        states.push_back(lifecycle::state_of_trial(
            {trial.runs, desired, queue.answered, task, first_run, waits_for_lane}));
        trials.push_back({trial, states.back(), std::move(task)});
    }
    bool const is_created = !record.arrays().empty();
    auto const state = lifecycle::state_of_experiment(is_created, record.desired, states);
    return {std::move(record), state, std::move(trials)};
}

}  // namespace det::tracker::history
