#include <det/history/view.hpp>

#include <algorithm>

namespace det::history {
namespace {

/// The task of the array that runs this trial. Tasks that still wait together are shown with the array's id
/// alone.
std::optional<slurm::JobStatus> find_task(QueueSight const& queue, std::optional<std::uint32_t> job,
                                          TrialId trial) {
    if (!job) return std::nullopt;
    for (auto const& status : queue.jobs) {
        bool const mine = status.ref.job == *job && (!status.ref.task || *status.ref.task == trial.index);
        if (mine) return status;
    }
    return std::nullopt;
}

}  // namespace

std::optional<UtcTime> ExperimentView::started() const {
    std::optional<UtcTime> first;
    for (auto const& trial : trials) {
        for (auto const& run : trial.record.runs) {
            if (run.started && (!first || run.started->time < *first)) first = run.started->time;
        }
    }
    return first;
}

std::optional<UtcTime> ExperimentView::ended() const {
    if (!lifecycle::is_terminal(state)) return std::nullopt;
    std::optional<UtcTime> last;
    for (auto const& trial : trials) {
        for (auto const& run : trial.record.runs) {
            if (run.ended && (!last || *last < run.ended->time)) last = run.ended->time;
        }
    }
    return last;
}

ExperimentView view_experiment(ExperimentRecord record, QueueSight const& queue) {
    auto const job = record.job();
    std::vector<TrialView> trials;
    std::vector<lifecycle::State> states;
    for (auto const& trial : record.trials) {
        auto task = find_task(queue, job, trial.id);
        auto const desired = stricter(record.desired, trial.desired);
        states.push_back(lifecycle::state_of_trial({trial.runs, desired, queue.answered, task}));
        trials.push_back({trial, states.back(), std::move(task)});
    }
    auto const state = lifecycle::state_of_experiment(job.has_value(), record.desired, states);
    return {std::move(record), state, std::move(trials)};
}

}  // namespace det::history
