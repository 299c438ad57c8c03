#include <det/experiment/cluster_facts.hpp>
#include <det/experiment/open_experiment.hpp>
#include <det/experiment/root_directory.hpp>
#include <det/journal/event_log.hpp>
#include <det/protocol/json.hpp>
#include <det/tracker/history/journal_history.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <map>

namespace det::experiment {
namespace {

/// Finds the arrays that an interrupted creation submitted. Returns them as the creation would have recorded
/// them.
std::vector<ArrayJob> find_arrays(std::vector<slurm::JobStatus> const& jobs, std::string const& comment,
                                  ExperimentSpec const* spec) {
    std::map<std::uint32_t, std::uint32_t> task_counts;
    for (auto const& job : jobs) {
        if (job.comment == comment) ++task_counts[job.ref.job];
    }
    std::vector<ArrayJob> arrays;
    std::uint32_t const lanes = spec != nullptr ? spec->lanes : 1;
    std::uint32_t first_trial = 0;
    for (auto const& [job, tasks] : task_counts) {
        if (spec != nullptr && spec->has_fewer_tasks) {
            arrays.push_back({job, 0, spec->trial_count, lanes, 0, {}, tasks});
            continue;
        }
        arrays.push_back({job, first_trial, tasks * lanes, lanes});
        if (spec != nullptr && spec->batch_script)
            arrays.back().task_ids = spec->batch_script->array_task_ids;
        first_trial += tasks * lanes;
    }
    return arrays;
}

/// Adds the arrays of an interrupted creation to the record in memory. Only activate_experiment writes them
/// to the disk.
void add_unrecorded_arrays(tracker::history::ExperimentRecord& record, RootLayout const& root,
                           std::vector<slurm::JobStatus> const& jobs) {
    auto const arrays =
        find_arrays(jobs, job_comment(root, record.id), record.spec ? &*record.spec : nullptr);
    if (arrays.empty()) return;
    record.events.push_back({std::string(event_kinds::created), {}, "", jobs_body(arrays)});
}

/// Asks Slurm for the jobs of the experiment. If no job is recorded, asks for all jobs of the user and adds
/// those of an interrupted creation to the record.
Result<tracker::history::QueueSnapshot> require_queue(tracker::history::ExperimentRecord& record,
                                                      RootLayout const& root, Context& context) {
    auto const arrays = record.arrays();
    slurm::QueueFilter filter{{}, {}, true};
    for (auto const& array : arrays) filter.jobs.push_back(array.job);
    if (arrays.empty()) filter = {user_name(context.environment), {}, false};
    DET_TRY_ASSIGN(auto jobs, context.slurm.query_queue(filter));
    if (arrays.empty()) add_unrecorded_arrays(record, root, jobs);
    return tracker::history::QueueSnapshot{true, std::move(jobs)};
}

bool has_interrupted_trial(tracker::history::ExperimentView const& view) {
    return std::ranges::any_of(
        view.trials, [](auto const& trial) { return trial.state == lifecycle::State::interrupted; });
}

/// Combines a record with a queue that was read after it. A run that has ended in between looks interrupted,
/// because its job is gone and the record does not have its end: then reads the record again.
Result<tracker::history::ExperimentView> combine(tracker::history::ExperimentRecord record,
                                                 tracker::history::QueueSnapshot const& queue,
                                                 tracker::history::History& history) {
    auto const id = record.id;
    auto view = view_experiment(std::move(record), queue);
    if (!has_interrupted_trial(view)) return view;
    DET_TRY_ASSIGN(auto newer, history.load_experiment(id));
    return view_experiment(std::move(newer), queue);
}

/// Whether slurmctld has lost what happened to the job of a trial in its last seconds before it crashed: the
/// job has begun a run, and waits as if it had never been released.
bool is_start_forgotten(tracker::history::TrialView const& trial) {
    auto const& runs = trial.record.runs;
    bool const is_held = trial.job && trial.job->state == slurm::JobState::pending &&
                         trial.job->reason == "JobHeldUser" && trial.state == lifecycle::State::queued;
    return is_held && !runs.empty() && runs.back().started && !runs.back().ended &&
           runs.back().started->job == slurm::to_string(trial.job->ref) &&
           runs.back().started->restart_count == trial.job->restarts;
}

/// If slurmd ends such a job before its supervisor has noticed, no program is left that releases it.
void warn_of_forgotten_starts(tracker::history::ExperimentView const& view, Context& context) {
    auto const trial = std::ranges::find_if(view.trials, is_start_forgotten);
    if (trial == view.trials.end()) return;
    context.warn(Error{
        codes::wrong_state,
        fmt::format("Slurm holds job {} of trial {}, which has begun: slurmctld has forgotten its start",
                    slurm::to_string(trial->job->ref), to_string(trial->record.id)),
        fmt::format("if it stays so for a minute, 'det-submit experiment activate {}' releases it",
                    view.record.id.value)});
}

using namespace std::chrono_literals;

// The poller reads the journals often, which does not load slurmctld, and asks slurmctld rarely.
constexpr auto poll_interval = 500ms;
constexpr auto queue_interval = 10s;
constexpr auto queue_interval_for_runs = 2s;

std::size_t count_runs(tracker::history::ExperimentRecord const& record) {
    std::size_t count = 0;
    for (auto const& trial : record.trials) count += trial.runs.size();
    return count;
}

/// Whether the experiment and each of its trials is settled, in this order.
std::vector<bool> find_settled(tracker::history::ExperimentView const& view) {
    std::vector<bool> settled{is_settled(view.state)};
    for (auto const& trial : view.trials) settled.push_back(is_settled(trial.state));
    return settled;
}

/// Whether `now` has a settled part that was not settled, or did not exist, in `before`.
bool has_newly_settled(std::vector<bool> const& before, std::vector<bool> const& now) {
    for (std::size_t part = 0; part < now.size(); ++part) {
        if (now[part] && (part >= before.size() || !before[part])) return true;
    }
    return false;
}

constexpr std::size_t foreign_jobs_max = 10'000;

}  // namespace

tracker::history::QueueSnapshot query_queue(std::vector<tracker::history::ExperimentRecord> const& records,
                                            Context& context, RecordsOf whose) {
    slurm::QueueFilter filter{{}, {}, true};
    for (auto const& record : records) {
        for (auto const& array : record.arrays()) filter.jobs.push_back(array.job);
    }
    if (filter.jobs.empty()) return {};
    if (whose == RecordsOf::another_user && hides_jobs_of_others(context)) return {false, {}};
    // Another user has written these numbers, and squeue takes them as an argument.
    if (whose == RecordsOf::another_user && filter.jobs.size() > foreign_jobs_max)
        filter.jobs.resize(foreign_jobs_max);
    auto jobs = context.slurm.query_queue(filter);
    if (jobs) return {true, *std::move(jobs)};
    context.warn(std::move(jobs).error().noting("the states come from the journals only"));
    return {false, {}};
}

tracker::history::QueueSnapshot query_queue(std::vector<tracker::history::ExperimentRecord> const& records,
                                            Context& context) {
    return query_queue(records, context,
                       context.foreign_root ? RecordsOf::another_user : RecordsOf::this_user);
}

Result<ExperimentId> require_experiment_id(std::string const& text) {
    if (auto const id = parse_experiment_id(text)) return *id;
    return Error{codes::usage, fmt::format("'{}' is not the id of an experiment", text),
                 "ids are numbers: see 'det-submit experiment list'"};
}

Result<TrialId> require_trial_id(std::string const& text) {
    if (auto const id = parse_trial_id(text)) return *id;
    // The id of an experiment stands for its trial 0.
    if (auto const experiment = parse_experiment_id(text)) return TrialId{*experiment, 0};
    return Error{codes::usage, fmt::format("'{}' is not the id of a trial", text),
                 "write it as EXPERIMENT.TRIAL, for example 7.0"};
}

Result<tracker::history::TrialView> require_trial(tracker::history::ExperimentView const& view, TrialId id) {
    if (id.index < view.trials.size()) return view.trials[id.index];
    return Error{codes::no_such_trial,
                 fmt::format("experiment {} has no trial {}", id.experiment.value, id.index),
                 fmt::format("see 'det-submit experiment list-trials {}'", id.experiment.value)};
}

Result<OpenExperiment> open_experiment(std::string const& id, SlurmAnswer slurm_answer, Context& context) {
    DET_TRY_ASSIGN(auto const root, slurm_answer == SlurmAnswer::required ? find_root(context.environment)
                                                                          : find_shown_root(context));
    DET_TRY_ASSIGN(auto const number, require_experiment_id(id));
    auto history = slurm_answer == SlurmAnswer::required
                       ? std::make_shared<tracker::history::JournalHistory>(root)
                       : context.open_history(root);
    DET_TRY_ASSIGN(auto record, history->load_experiment(number));
    tracker::history::QueueSnapshot queue;
    if (slurm_answer == SlurmAnswer::required) {
        DET_TRY_ASSIGN(queue, require_queue(record, root, context));
    } else {
        queue = query_queue({record}, context);
    }
    auto const layout = ExperimentLayout(root, record.id).at_revision(record.revision());
    DET_TRY_ASSIGN(auto view, combine(std::move(record), queue, *history));
    if (slurm_answer == SlurmAnswer::optional) warn_of_forgotten_starts(view, context);
    return OpenExperiment{root, layout, std::move(view), std::move(history)};
}

Status record_event(OpenExperiment const& experiment, std::string_view kind, Json body, Context& context) {
    return journal::append_event(
        experiment.layout.events(),
        Event{std::string(kind), context.clock.now(), event_author(context.environment), std::move(body)});
}

void record_done(OpenExperiment const& experiment, std::string_view kind, Json body, Context& context) {
    auto recorded = record_event(experiment, kind, std::move(body), context);
    if (!recorded) context.warn(std::move(recorded).error().while_doing("recording who did this"));
}

bool is_settled(lifecycle::State state) {
    return lifecycle::is_terminal(state) || state == lifecycle::State::interrupted;
}

ExperimentPoller::ExperimentPoller(RootLayout root, ExperimentId id, Context& context)
    : history_(std::move(root)),
      id_(id),
      context_(context),
      asked_(context.clock.steady_now() - queue_interval) {}

Result<tracker::history::ExperimentView> ExperimentPoller::poll() {
    for (;;) {
        DET_TRY_ASSIGN(auto record, history_.load_experiment(id_));
        auto const now = context_.clock.steady_now();
        // The queue of before shows the job of a run that has begun since as waiting.
        auto const runs = count_runs(record);
        bool const fresh = now - asked_ >= (runs > known_runs_ ? queue_interval_for_runs : queue_interval);
        if (fresh) {
            queue_ = query_queue({record}, context_);
            asked_ = now;
            known_runs_ = runs;
        }
        DET_TRY_ASSIGN(auto view, combine(std::move(record), queue_, history_));
        auto settled = find_settled(view);
        // The journals may have new records since the queue was read.
        if (fresh || !has_newly_settled(settled_, settled)) {
            settled_ = std::move(settled);
            return view;
        }
        asked_ = now - queue_interval;
    }
}

void ExperimentPoller::sleep_until_next_poll() { context_.clock.sleep_for(poll_interval); }

}  // namespace det::experiment
