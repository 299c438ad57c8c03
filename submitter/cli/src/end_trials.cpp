#include "end_trials.hpp"

#include <algorithm>

namespace det::cli {
namespace {

bool has_begun(history::TrialView const& trial) {
    if (!trial.job) return false;
    return trial.job->state == slurm::JobState::running || trial.job->state == slurm::JobState::suspended;
}

/// Slurm knows the job and it is not over there.
bool is_in_slurm(history::TrialView const& trial) { return trial.job && !slurm::is_over(trial.job->state); }

/// All tasks of the array that are left are cancelled: then the array is.
void join_arrays(std::vector<EndStep>& steps, history::ExperimentRecord const& record,
                 std::vector<history::TrialView> const& trials) {
    for (auto const& array : record.arrays()) {
        auto const left = std::count_if(trials.begin(), trials.end(), [&](auto const& trial) {
            return array.runs(trial.record.id.index) && is_in_slurm(trial);
        });
        auto const is_of_array = [&](EndStep const& step) {
            return step.kind == EndStep::Kind::cancel_job && step.job.job == array.job;
        };
        if (left < 2 || std::count_if(steps.begin(), steps.end(), is_of_array) != left) continue;
        std::erase_if(steps, is_of_array);
        steps.push_back({EndStep::Kind::cancel_job, {array.job, {}}});
    }
}

bool has_ended(Error const& error) {
    constexpr std::string_view words[] = {"Invalid job id specified", "already completing or completed",
                                          "Job has already finished"};
    return std::any_of(error.notes.begin(), error.notes.end(), [&](std::string const& note) {
        return std::any_of(std::begin(words), std::end(words),
                           [&](auto each) { return note.find(each) != std::string::npos; });
    });
}

}  // namespace

std::vector<EndStep> plan_end(history::ExperimentRecord const& record,
                              std::vector<history::TrialView> const& trials, Desired desired) {
    std::vector<EndStep> steps;
    for (auto const& trial : trials) {
        auto const task = record.task_of(trial.record.id.index);
        if (!task || !is_in_slurm(trial)) continue;
        bool const may_save = desired == Desired::cancel && has_begun(trial);
        steps.push_back({may_save ? EndStep::Kind::ask_to_stop : EndStep::Kind::cancel_job, *task});
    }
    join_arrays(steps, record, trials);
    return steps;
}

Status end_trials(std::vector<EndStep> const& steps, slurm::SlurmClient& slurm) {
    for (auto const& step : steps) {
        auto const done = step.kind == EndStep::Kind::cancel_job ? slurm.cancel(step.job)
                                                                 : slurm.signal_steps(step.job, "TERM");
        if (!done && !has_ended(done.error())) return done.error();
    }
    return Ok{};
}

}  // namespace det::cli
