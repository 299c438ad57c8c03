#include <det/experiment/root_directory.hpp>
#include <det/experiment/update_jobs.hpp>
#include <det/foundation/files.hpp>
#include <det/journal/event_log.hpp>
#include <det/journal/reader.hpp>
#include <det/protocol/json.hpp>

#include <algorithm>
#include <set>

namespace det::experiment {
namespace {

bool has_begun(tracker::history::TrialView const& trial) {
    if (!trial.job) return false;
    return trial.job->state == slurm::JobState::running || trial.job->state == slurm::JobState::suspended;
}

/// Returns true if Slurm knows the trial's job and the job has not ended.
bool is_in_slurm(tracker::history::TrialView const& trial) {
    return trial.job && !slurm::is_over(trial.job->state);
}

/// If all remaining tasks of an array are cancelled, and they are at least two, replaces their cancellations
/// by one cancellation of the array.
void join_arrays(std::vector<JobUpdate>& updates, tracker::history::ExperimentRecord const& record,
                 std::vector<tracker::history::TrialView> const& trials) {
    for (auto const& array : record.arrays()) {
        auto const left = std::count_if(trials.begin(), trials.end(), [&](auto const& trial) {
            return array.runs(trial.record.id.index) && is_in_slurm(trial);
        });
        auto const is_of_array = [&](JobUpdate const& update) {
            return update.kind == JobUpdate::Kind::cancel_job && update.job.job == array.job;
        };
        if (left < 2 || std::count_if(updates.begin(), updates.end(), is_of_array) != left) continue;
        std::erase_if(updates, is_of_array);
        updates.push_back({JobUpdate::Kind::cancel_job, {array.job, {}}});
    }
}

/// Returns the running tasks. Contains each task once, also if several trials share it.
std::set<slurm::JobRef> running_tasks(tracker::history::ExperimentView const& experiment) {
    std::set<slurm::JobRef> running;
    for (auto const& trial : experiment.trials) {
        auto const task = experiment.record.task_of(trial.record.id.index);
        if (task && has_begun(trial)) running.insert(*task);
    }
    return running;
}

/// Implements plan_end for trials that share jobs. DesiredState::kill cancels all arrays.
/// DesiredState::cancel cancels waiting tasks and signals the supervisors of running tasks to save their
/// work.
std::vector<JobUpdate> plan_packed_end(tracker::history::ExperimentView const& experiment,
                                       DesiredState desired) {
    std::vector<JobUpdate> updates;
    bool const at_once = desired == DesiredState::kill;
    for (auto const& array : experiment.own_arrays()) {
        updates.push_back(
            {at_once ? JobUpdate::Kind::cancel_job : JobUpdate::Kind::cancel_waiting, {array.job, {}}});
    }
    if (at_once) return updates;
    for (auto const& task : running_tasks(experiment))
        updates.push_back({JobUpdate::Kind::wake_supervisor, task});
    return updates;
}

Status apply(JobUpdate const& update, slurm::SlurmClient& slurm) {
    switch (update.kind) {
        case JobUpdate::Kind::cancel_job:
            return slurm.cancel(update.job);
        case JobUpdate::Kind::cancel_waiting:
            return slurm.cancel_pending_tasks(update.job);
        case JobUpdate::Kind::hold:
            return slurm.hold(update.job);
        case JobUpdate::Kind::release:
            return slurm.release(update.job);
        case JobUpdate::Kind::wake_supervisor:
            // Processes ignore URG unless they handle it: where Slurm signals every process, programs are not
            // disturbed, and srun does not forward it to their ranks.
            return slurm.signal_batch(update.job, "URG");
    }
    return Ok{};
}

Status write_pool(ExperimentLayout const& layout, std::string const& partition) {
    DET_TRY_ASSIGN(auto spec, journal::load_spec(layout));
    auto const option = std::ranges::find_if(
        spec.sbatch_options, [](auto const& each) { return each.starts_with("--partition="); });
    if (option == spec.sbatch_options.end() || *option == "--partition=" + partition) return Ok{};
    *option = "--partition=" + partition;
    spec.pool = partition;
    return write_file(layout.spec(), render_spec(spec), 0600, Durability::power_loss);
}

}  // namespace

std::vector<JobUpdate> plan_end(tracker::history::ExperimentView const& experiment, DesiredState desired) {
    auto const& record = experiment.record;
    if (record.tasks_claim_trials()) return plan_packed_end(experiment, desired);
    std::vector<JobUpdate> updates;
    for (auto const& trial : experiment.trials) {
        auto const task = record.task_of(trial.record.id.index);
        if (!task || !is_in_slurm(trial)) continue;
        bool const may_save = desired == DesiredState::cancel && has_begun(trial);
        updates.push_back({may_save ? JobUpdate::Kind::wake_supervisor : JobUpdate::Kind::cancel_job, *task});
    }
    join_arrays(updates, record, experiment.trials);
    return updates;
}

std::vector<JobUpdate> plan_pause(tracker::history::ExperimentView const& experiment) {
    std::vector<JobUpdate> updates;
    for (auto const& array : experiment.own_arrays()) {
        bool const waits = std::any_of(experiment.trials.begin(), experiment.trials.end(),
                                       [&](tracker::history::TrialView const& trial) {
                                           return array.runs(trial.record.id.index) && is_in_slurm(trial) &&
                                                  !has_begun(trial);
                                       });
        if (waits || experiment.record.tasks_claim_trials())
            updates.push_back({JobUpdate::Kind::hold, {array.job, {}}});
    }
    for (auto const& task : running_tasks(experiment))
        updates.push_back({JobUpdate::Kind::wake_supervisor, task});
    return updates;
}

std::vector<JobUpdate> plan_kill(tracker::history::ExperimentRecord const& record,
                                 tracker::history::TrialView const& trial) {
    auto const task = record.task_of(trial.record.id.index);
    if (!task || !is_in_slurm(trial)) return {};
    if (!record.tasks_claim_trials()) return {{JobUpdate::Kind::cancel_job, *task}};
    // A waiting trial needs no call: its supervisor reads the trial's `desired` file before it starts the
    // trial.
    if (!has_begun(trial)) return {};
    return {{JobUpdate::Kind::wake_supervisor, *task}};
}

std::vector<JobUpdate> plan_release(std::vector<ArrayJob> const& arrays) {
    std::vector<JobUpdate> updates;
    for (auto const& array : arrays) updates.push_back({JobUpdate::Kind::release, {array.job, {}}});
    return updates;
}

bool is_job_ended(Error const& error) {
    constexpr std::string_view words[] = {"Invalid job id specified", "already completing or completed",
                                          "Job has already finished"};
    return std::any_of(error.notes.begin(), error.notes.end(), [&](std::string const& note) {
        return std::any_of(std::begin(words), std::end(words),
                           [&](auto each) { return note.find(each) != std::string::npos; });
    });
}

Status update_jobs(std::vector<JobUpdate> const& updates, slurm::SlurmClient& slurm) {
    for (auto const& update : updates) {
        auto const done = apply(update, slurm);
        if (!done && !is_job_ended(done.error())) return done.error();
    }
    return Ok{};
}

void update_spec_partition(std::uint32_t job, std::vector<slurm::JobStatus> const& jobs,
                           queue::ExperimentJobOwner const& owner, Context& context) {
    auto const moved = std::ranges::find_if(jobs, [&](auto const& each) { return each.ref.job == job; });
    auto const root = find_root(context.environment);
    if (moved == jobs.end() || !root) return;
    auto const experiment = queue::experiment_of(*moved, owner);
    if (!experiment) return;
    bool const is_split = std::ranges::any_of(jobs, [&](auto const& each) {
        return queue::experiment_of(each, owner) == experiment && each.partition != moved->partition;
    });
    if (is_split) return;
    auto written = write_pool(ExperimentLayout(*root, {*experiment}), moved->partition);
    if (!written)
        context.warn(std::move(written).error().while_doing("recording where the experiment's jobs are now"));
}

void record_move(std::uint32_t job, std::string const& move, std::vector<slurm::JobStatus> const& jobs,
                 queue::ExperimentJobOwner const& owner, Context& context) {
    auto const moved = std::ranges::find_if(jobs, [&](auto const& each) { return each.ref.job == job; });
    auto const root = find_root(context.environment);
    auto const experiment = moved == jobs.end() || !root ? std::nullopt : queue::experiment_of(*moved, owner);
    if (!experiment) return;
    Event const event{std::string(event_kinds::moved), context.clock.now(), event_author(context.environment),
                      Json{{"job", job}, {"move", move}}};
    auto recorded = journal::append_event(ExperimentLayout(*root, {*experiment}).events(), event);
    if (!recorded) context.warn(std::move(recorded).error().while_doing("recording who moved the job"));
}

}  // namespace det::experiment
