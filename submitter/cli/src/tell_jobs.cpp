#include "tell_jobs.hpp"

#include <algorithm>
#include <set>

namespace det::cli {
namespace {

bool has_begun(tracker::history::TrialView const& trial) {
    if (!trial.job) return false;
    return trial.job->state == slurm::JobState::running || trial.job->state == slurm::JobState::suspended;
}

/// Slurm knows the job and it is not over there.
bool is_in_slurm(tracker::history::TrialView const& trial) {
    return trial.job && !slurm::is_over(trial.job->state);
}

/// All tasks of the array that are left are cancelled: then the array is.
void join_arrays(std::vector<JobStep>& steps, tracker::history::ExperimentRecord const& record,
                 std::vector<tracker::history::TrialView> const& trials) {
    for (auto const& array : record.arrays()) {
        auto const left = std::count_if(trials.begin(), trials.end(), [&](auto const& trial) {
            return array.runs(trial.record.id.index) && is_in_slurm(trial);
        });
        auto const is_of_array = [&](JobStep const& step) {
            return step.kind == JobStep::Kind::cancel_job && step.job.job == array.job;
        };
        if (left < 2 || std::count_if(steps.begin(), steps.end(), is_of_array) != left) continue;
        std::erase_if(steps, is_of_array);
        steps.push_back({JobStep::Kind::cancel_job, {array.job, {}}});
    }
}

/// Each once, however many trials share it.
std::set<slurm::JobRef> running_tasks(tracker::history::ExperimentView const& experiment) {
    std::set<slurm::JobRef> running;
    for (auto const& trial : experiment.trials) {
        auto const task = experiment.record.task_of(trial.record.id.index);
        if (task && has_begun(trial)) running.insert(*task);
    }
    return running;
}

/// Trials share jobs: those that run save their work, what has not begun goes.
std::vector<JobStep> plan_packed_end(tracker::history::ExperimentView const& experiment, Desired desired) {
    std::vector<JobStep> steps;
    bool const at_once = desired == Desired::kill;
    for (auto const& array : experiment.record.arrays()) {
        steps.push_back(
            {at_once ? JobStep::Kind::cancel_job : JobStep::Kind::cancel_waiting, {array.job, {}}});
    }
    if (at_once) return steps;
    for (auto const& task : running_tasks(experiment)) steps.push_back({JobStep::Kind::poke, task});
    return steps;
}

Status tell(JobStep const& step, slurm::SlurmClient& slurm) {
    switch (step.kind) {
        case JobStep::Kind::cancel_job:
            return slurm.cancel(step.job);
        case JobStep::Kind::cancel_waiting:
            return slurm.cancel_waiting(step.job);
        case JobStep::Kind::hold:
            return slurm.hold(step.job);
        case JobStep::Kind::release:
            return slurm.release(step.job);
        case JobStep::Kind::poke:
            return slurm.signal_batch(step.job, "USR2");
    }
    return Ok{};
}

}  // namespace

std::vector<JobStep> plan_end(tracker::history::ExperimentView const& experiment, Desired desired) {
    auto const& record = experiment.record;
    if (record.is_packed()) return plan_packed_end(experiment, desired);
    std::vector<JobStep> steps;
    for (auto const& trial : experiment.trials) {
        auto const task = record.task_of(trial.record.id.index);
        if (!task || !is_in_slurm(trial)) continue;
        bool const may_save = desired == Desired::cancel && has_begun(trial);
        steps.push_back({may_save ? JobStep::Kind::poke : JobStep::Kind::cancel_job, *task});
    }
    join_arrays(steps, record, experiment.trials);
    return steps;
}

std::vector<JobStep> plan_pause(tracker::history::ExperimentView const& experiment) {
    std::vector<JobStep> steps;
    for (auto const& array : experiment.record.arrays()) {
        bool const waits = std::any_of(experiment.trials.begin(), experiment.trials.end(),
                                       [&](tracker::history::TrialView const& trial) {
                                           return array.runs(trial.record.id.index) && is_in_slurm(trial) &&
                                                  !has_begun(trial);
                                       });
        if (waits || experiment.record.is_packed()) steps.push_back({JobStep::Kind::hold, {array.job, {}}});
    }
    for (auto const& task : running_tasks(experiment)) steps.push_back({JobStep::Kind::poke, task});
    return steps;
}

std::vector<JobStep> plan_kill(tracker::history::ExperimentRecord const& record,
                               tracker::history::TrialView const& trial) {
    auto const task = record.task_of(trial.record.id.index);
    if (!task || !is_in_slurm(trial)) return {};
    if (!record.is_packed()) return {{JobStep::Kind::cancel_job, *task}};
    // One that waits sees what is desired before it begins.
    if (!has_begun(trial)) return {};
    return {{JobStep::Kind::poke, *task}};
}

std::vector<JobStep> plan_release(std::vector<ArrayJob> const& arrays) {
    std::vector<JobStep> steps;
    for (auto const& array : arrays) steps.push_back({JobStep::Kind::release, {array.job, {}}});
    return steps;
}

bool has_ended(Error const& error) {
    constexpr std::string_view words[] = {"Invalid job id specified", "already completing or completed",
                                          "Job has already finished"};
    return std::any_of(error.notes.begin(), error.notes.end(), [&](std::string const& note) {
        return std::any_of(std::begin(words), std::end(words),
                           [&](auto each) { return note.find(each) != std::string::npos; });
    });
}

Status tell_jobs(std::vector<JobStep> const& steps, slurm::SlurmClient& slurm) {
    for (auto const& step : steps) {
        auto const done = tell(step, slurm);
        if (!done && !has_ended(done.error())) return done.error();
    }
    return Ok{};
}

}  // namespace det::cli
