// The begin of a run: from the trial to the start of its step. The supervisor may be killed or cut off from
// the network at any point, so begin() keeps an order:
//
// - If a sampler chooses hyperparameters, begin() asks it before the run exists: the answer is recorded, and
//   this process may be killed at any time.
// - begin() creates the directory of the run first, and then reads the earlier runs. From then on the chief
//   of an earlier run, which may still run on a node that was cut off, commits no further checkpoint.
// - begin() records the start before the step exists. So a run whose supervisor was killed has a start and no
//   end.
// - If the previous run is lost, begin() uses up the step numbers that the lost run may still use: slurmctld
//   ends a step by job and number, and would end the new one when the lost node returns.
// - begin() decides about what the earlier runs have reported to the search before it starts a step, because
//   the supervisor of such a run may have been killed before it decided.
// - Before the run's own step come two others: one checks the nodes, the other brings files to their disks,
//   which may take long. If the job ends, or the user stops the trial meanwhile, the step is cancelled, and
//   the run ends without its own one (run_node_step()).
#include <det/checkpoint/storage/open_store.hpp>
#include <det/foundation/uuid.hpp>
#include <det/launch/supervisor/memory_cleanup.hpp>
#include <det/protocol/host_list.hpp>
#include <det/protocol/staged_file.hpp>
#include <det/protocol/task_identity.hpp>
#include <det/sampler/decision_log.hpp>
#include <det/sampler/load_draw.hpp>
#include <det/search/search.hpp>
#include <det/slurm/srun.hpp>

#include <algorithm>
#include <fcntl.h>
#include <fmt/format.h>
#include <utility>

#include "excluded_nodes.hpp"
#include "free_port.hpp"
#include "gather_run_facts.hpp"
#include "lane.hpp"
#include "make_step_request.hpp"
#include "own_script.hpp"
#include "repeat_write.hpp"
#include "run_environment.hpp"
#include "script_signals.hpp"
#include "skip_step_ids.hpp"
#include "stage_files.hpp"
#include "trial_files.hpp"

namespace det::launch::supervisor {
namespace {

/// Uses up the step numbers that a lost incarnation of this job may still use.
void skip_lost_steps(SupervisorContext const& context, std::uint32_t count) {
    slurm::StepRequest request;
    request.command = {"true"};
    auto const argv = slurm::render_srun(request);
    auto environment = context.environment;
    environment.unset(variables::spank);
    unset_batch_step(environment);
    auto const end = skip_step_ids(
        count, [&] { return slurm::StepProcess::start(argv, environment); }, context.clock);
    if (end != SkipEnd::all_skipped)
        context.log(fmt::format("not all step numbers of the lost run were skipped: {}", describe(end)));
}

/// Describes in one line why the files of a trial could not be prepared.
std::string describe_failure(Error const& error) {
    auto text = "the trial's files could not be prepared: " + error.message;
    for (auto const& note : error.notes) text += "; " + note;
    return text;
}

std::optional<std::chrono::seconds> hang_timeout(ExperimentSpec const& spec) {
    if (!spec.hang_timeout_s) return std::nullopt;
    return std::chrono::seconds(*spec.hang_timeout_s);
}

/// nullopt: whether a run is idle is not decided. A batch script on several nodes has a wrapper on the first
/// one only.
std::optional<std::chrono::seconds> idle_timeout(BatchJob const& batch_job) {
    auto const policy = find_idle_policy(batch_job.spec);
    bool const is_seen = !batch_job.is_script() || batch_job.spec.shape.nodes == 1;
    return policy && is_seen ? std::optional(policy->after) : std::nullopt;
}

}  // namespace

Status Lane::begin(std::uint32_t trial, std::string const& refusal, Meanwhile const& meanwhile,
                   std::optional<TrialBeginning> known) {
    auto found = std::move(known);
    if (!found) {
        DET_TRY_ASSIGN(found, find_beginning(trial, refusal, meanwhile));
    }
    DET_TRY_ASSIGN(auto const without_answer, search::draw_trial(batch_job_.spec, trial));
    auto const beginning = found.value_or(TrialBeginning{without_answer});
    auto const& draw = beginning.draw;
    DET_TRY_ASSIGN(auto const id, repeat_write(context_, AtNotice::give_up, [&] {
                       return RunRecord::create_next(batch_job_, {batch_job_.spec.id, trial});
                   }));
    DET_TRY_ASSIGN(auto plan, repeat_write(context_, AtNotice::give_up, [&] { return plan_run(id, draw); }));
    DET_TRY_ASSIGN(auto search, repeat_write(context_, AtNotice::give_up,
                                             [&] { return SearchFollower::open(batch_job_, id, draw); }));
    DET_TRY_ASSIGN(auto record, repeat_write(context_, AtNotice::give_up, [&] {
                       return RunRecord::begin(batch_job_, plan, context_.clock.now());
                   }));
    for (auto const& damage : plan.resume.damage) context_.log(damage);
    for (auto const& error : plan.resume.passed_over)
        context_.log(fmt::format("not used: {}", error.message));
    context_.log(fmt::format("run {} begins on {} at step {}", to_string(plan.id), plan.hosts,
                             plan.resume.steps_completed));
    auto const files = repeat_write(context_, AtNotice::give_up, [&] {
        return prepare_trial_files(batch_job_.spec, batch_job_.experiment.trial(trial), plan.id.number,
                                   plan.resume, context_.log);
    });
    if (!files && files.error().code == codes::superseded) return files.error();
    if (files) plan.trial_dir = files->files();
    if (plan.resume.is_previous_run_lost && batch_job_.incarnation.restart_count > 0)
        skip_lost_steps(context_, plan.resume.step_ids_to_skip);
    plan.ports = reserve_ports();
    auto environment = make_run_environment(batch_job_, plan, context_.environment);
    if (batch_job_.is_script()) remove_own_open_mode(environment, batch_job_);
    run_.emplace(make_run(std::move(plan), std::move(record), std::move(search)));
    // The supervisor of an earlier run may have been killed before it recorded the end of the trial.
    if (follow_search() != RunAction::wait) return end_before_start();
    if (!beginning.end.empty())
        return record_outcome(
            {Cause::stopped_by_search, NextAction::stop, "the search ended it: " + beginning.end, {}});
    if (!beginning.failure.empty()) return end_without_hyperparameters(beginning.failure);
    if (!found) return stop_before_step();
    if (!refusal.empty()) return record_outcome({Cause::not_launched, NextAction::stop, refusal, {}});
    if (auto const& unusable = run_->plan.resume.refusal)
        return record_outcome(
            {Cause::checkpoint_damaged, NextAction::stop, unusable->message + "; " + unusable->hint, {}});
    if (!files)
        return record_outcome({Cause::not_launched, NextAction::stop, describe_failure(files.error()), {}});
    return start(std::move(environment));
}

/// What the trial begins with; nullopt if the job ends before the sampler has answered. The sampler is not
/// asked if no step may start.
Result<std::optional<TrialBeginning>> Lane::find_beginning(std::uint32_t trial, std::string const& refusal,
                                                           Meanwhile const& meanwhile) const {
    if (!refusal.empty()) {
        DET_TRY_ASSIGN(auto draw, search::draw_trial(batch_job_.spec, trial));
        return std::optional(TrialBeginning{std::move(draw)});
    }
    auto beginning = repeat_write(context_, AtNotice::give_up,
                                  [&] { return choose_beginning(batch_job_, context_, trial, meanwhile); });
    if (beginning) return std::optional(*std::move(beginning));
    if (beginning.error().code != codes::interrupted) return beginning.error();
    return std::optional<TrialBeginning>();
}

Result<RunPlan> Lane::plan_run(RunId id, search::TrialDraw const& draw) const {
    auto const trial = id.trial.index;
    RunPlan plan;
    plan.id = id;
    DET_TRY_ASSIGN(auto const store, checkpoint::storage::open_store(batch_job_.spec, context_.environment));
    DET_TRY_ASSIGN(plan.resume, find_resume_point(batch_job_.experiment.trial(trial), id.trial,
                                                  {batch_job_.spec.first_run_of(trial), plan.id.number},
                                                  *store, batch_job_.spec.progress_globs));
    DET_TRY(use_source_checkpoint(batch_job_.spec.source_checkpoint, *store, plan.resume));
    for (auto& host : bad_hosts_of(batch_job_)) {
        auto& bad = plan.resume.bad_hosts;
        if (std::find(bad.begin(), bad.end(), host) == bad.end()) bad.push_back(std::move(host));
    }
    plan.signals_reach_all = !batch_job_.spec.forward_signals.empty() && signals_reach_all(context_.slurm);
    DET_TRY_ASSIGN(auto allocation, find_allocation(batch_job_, context_.environment, plan.resume.bad_hosts));
    auto const first_hosts = decide_run_shape(batch_job_.spec, allocation).hosts;
    allocation.warm_hosts = find_warm_hosts(id, plan.resume);
    plan.shape = decide_run_shape(batch_job_.spec, allocation);
    plan.hosts = compress_host_list(plan.shape.hosts);
    if (plan.shape.hosts != first_hosts)
        context_.log(fmt::format("run {} leaves {} for {}, where interpreters wait", to_string(id),
                                 compress_host_list(first_hosts), plan.hosts));
    plan.trial_seed = draw.seed;
    if (sampler::is_custom(batch_job_.spec)) plan.chosen_hyperparameters = draw.hyperparameters;
    if (search::sampler_sets_lengths(batch_job_.spec.searcher)) {
        DET_TRY_ASSIGN(auto const decisions, sampler::load_decisions(batch_job_.experiment));
        plan.training_length = decisions.find_length(trial);
    }
    plan.master_port = find_free_port();
    plan.local_suffix = make_uuid();
    return plan;
}

/// The nodes on which an interpreter waits, to be preferred; none if the run needs what only the nodes of the
/// last run have: files of slurm.stage, or the state that the ranks keep in memory, without which the run
/// would begin at a checkpoint. To bring that again would cost more than the import.
std::vector<std::string> Lane::find_warm_hosts(RunId id, ResumePoint const& resume) const {
    auto hosts = warm_start_.find_waiting();
    if (!hosts.empty() && !may_leave_nodes(batch_job_, context_, id, resume.last_hosts)) hosts.clear();
    return hosts;
}

/// Reserves ports for the run, and logs each configured port that is taken.
Ports Lane::reserve_ports() {
    auto const configured = configured_ports(batch_job_.spec.config);
    auto reserved = ports_.reserve(configured);
    for (auto const& [name, wanted] : configured) {
        auto const found = reserved.find(name);
        if (found == reserved.end())
            context_.log(fmt::format("no port from {} on is free for '{}'", wanted, name));
        else if (found->second != wanted)
            context_.log(
                fmt::format("port {} of '{}' is taken here: {} is used", wanted, name, found->second));
    }
    return reserved;
}

Lane::Run Lane::make_run(RunPlan plan, RunRecord record, std::optional<SearchFollower> search) const {
    RunStateMachine machine(std::chrono::seconds(batch_job_.spec.preemption_timeout_s),
                            batch_job_.spec.notice_s
                                ? std::optional<std::chrono::seconds>(*batch_job_.spec.notice_s)
                                : std::nullopt);
    if (batch_job_.is_script() && find_warning_time(batch_job_.spec.sbatch_options))
        machine.ignore_time_limit();
    HeartbeatMonitor heartbeats(record.layout(), plan.shape.task_nodes);
    GoneNodes gone_nodes(plan.shape.task_nodes, NodeWatch::gone_limit(batch_job_, context_.environment));
    auto const grow_policy = plan.shape.shape.nodes < batch_job_.spec.shape.nodes
                                 ? find_grow_policy(batch_job_.spec)
                                 : std::nullopt;
    auto const before_growing = grow_policy
                                    ? wait_before_growing(*grow_policy, plan.resume.growths,
                                                          plan.shape.shape.nodes, context_.clock.now())
                                    : std::chrono::seconds(0);
    GrowDetector grow(grow_policy, context_.clock.steady_now() + before_growing);
    RunFileWatch notice(record.layout().preempt_notice());
    RunFileWatch requeue_request(record.layout().requeue_request());
    // A file that exists: that a name is absent an NFS client may remember without asking the server.
    auto reading = StorageProbe::of_reading(record.layout().rendezvous());
    auto writing = StorageProbe::of_writing(record.layout().path());
    auto const record_layout = record.layout();
    return Run{std::move(plan),
               std::move(record),
               machine,
               std::move(heartbeats),
               std::move(gone_nodes),
               HangDetector(hang_timeout(batch_job_.spec), context_.clock.steady_now()),
               IdleDetector(idle_timeout(batch_job_), context_.clock.steady_now()),
               std::move(grow),
               RunUseReader(record_layout),
               std::move(notice),
               std::move(requeue_request),
               std::move(reading),
               std::move(writing),
               std::move(search),
               {},
               {},
               {},
               0,
               output_size_bytes(context_.output),
               context_.clock.now()};
}

/// Ends a run without a step, because of what earlier runs have reported to the search.
Status Lane::end_before_start() {
    auto const& search = *run_->search;
    if (search.invalid_report_reason().empty())
        return record_outcome({Cause::stopped_by_search, NextAction::stop,
                               "the search had ended it: " + search.describe_end()});
    lifecycle::RunOutcome outcome{Cause::failed, NextAction::stop,
                                  "the search can't go on: " + search.invalid_report_reason()};
    DET_TRY(repeat_write(context_, AtNotice::go_on, [&] { return apply_to_search(outcome); }));
    return record_outcome(std::move(outcome));
}

/// Ends a run without a step, because the sampler has failed. When the user has mended it, `activate` runs
/// the trial, as after the failure of a supervisor.
Status Lane::end_without_hyperparameters(std::string const& why) {
    auto const recorded = record_outcome({Cause::interrupted,
                                          NextAction::left_to_slurm,
                                          why + "; 'det-submit experiment activate' runs the trial again",
                                          {}});
    notify(events::failed, why, to_string(NextAction::left_to_slurm));
    return recorded;
}

/// Checks the nodes, brings files to their disks, and starts the run's step. Ends the run if the step can't
/// start.
Status Lane::start(Environment environment) {
    auto const is_stopped = [this] { return is_stopped_by_user(); };
    auto health = check_health(batch_job_, run_->plan, context_, is_stopped);
    if (!health && health.error().code == codes::interrupted) return stop_before_step();
    if (!health)
        return record_outcome(
            {Cause::not_launched, NextAction::stop, health.error().message + "; " + health.error().hint, {}});
    run_->health = *std::move(health);
    if (has_unhealthy_nodes()) return Ok{};
    auto const staged = stage_files(batch_job_, run_->plan, context_, is_stopped);
    if (!staged && staged.error().code == codes::interrupted) return stop_before_step();
    if (!staged)
        return record_outcome(
            {Cause::not_launched, NextAction::stop, staged.error().message + "; " + staged.error().hint, {}});
    if (!staged->empty()) environment.set(variables::stage, *staged);
    run_->output_begin_bytes = output_size_bytes(context_.output);
    run_->nodes = NodeWatch::start(batch_job_, run_->plan, run_->record.layout(), context_);
    if (run_->nodes) environment.set(variables::node_monitor, run_->nodes->address());
    if (run_->nodes) run_->nodes->confirm_newest_run(newest_run_limit());
    run_->step_began = context_.clock.steady_now();
    auto step = start_step(environment);
    if (!step) return record_outcome({Cause::not_launched, NextAction::stop, step.error().message, {}});
    run_->step.emplace(*std::move(step));
    // The steps of several lanes wait for each other. A trial that has never started may ask for what its job
    // does not have.
    if (!batch_job_.is_script() && batch_job_.lanes() == 1 && run_->plan.resume.has_begun_before)
        run_->refusal.begin(run_->step_began);
    warm_start_.begin(run_->plan.id.trial, run_->plan.resume.bad_hosts);
    if (sampler::is_custom(batch_job_.spec)) run_->sampler.emplace(batch_job_, context_, run_->record);
    notify(events::started, "", "");
    return Ok{};
}

/// Whether the user has paused, cancelled or killed the trial since it began. There is no step to ask or to
/// kill yet, but the state machine keeps what was wanted, also if the user changes it back before the run has
/// ended.
bool Lane::is_stopped_by_user() {
    (void)run_->machine.on_desired(desired(), context_.clock.steady_now());
    return run_->machine.is_ending();
}

Status Lane::stop_before_step() {
    context_.log(fmt::format("run {} is stopped before its step starts", to_string(id())));
    run_->was_stopped_before_step = true;
    return Ok{};
}

/// Starts the run's step, or a batch script in this step.
Result<slurm::StepProcess> Lane::start_step(Environment const& environment) const {
    if (!batch_job_.is_script())
        return slurm::StepProcess::start(
            slurm::render_srun(make_step_request(batch_job_, run_->plan, context_.wrap_rank)), environment);
    slurm::StepProcess::Output output;
    if (context_.script_output >= 0)
        output.out = UniqueFd(::fcntl(context_.script_output, F_DUPFD_CLOEXEC, 0));
    if (context_.script_errors >= 0)
        output.err = UniqueFd(::fcntl(context_.script_errors, F_DUPFD_CLOEXEC, 0));
    return slurm::StepProcess::start_here(make_script_command(batch_job_, context_.wrap_rank), environment,
                                          script_signals(), output);
}

}  // namespace det::launch::supervisor
