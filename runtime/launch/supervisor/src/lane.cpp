// Runs one trial after another in a share of the job. A lane is idle; or its run goes on; or the outcome of
// the run is known, while the step may still run. wait_and_clear() makes the lane idle again.
//
// The supervisor may be killed or cut off from the network at any point, so begin() and finish_run() keep an
// order:
//
// - If a sampler chooses hyperparameters, begin() asks it before the run exists: the answer is recorded, and
//   this process may be killed at any time.
// - begin() creates the directory of the run first, and then reads the earlier runs. From then on the chief
//   of an earlier run, which may still run on a node that was cut off, commits no further checkpoint.
// - begin() decides about what the earlier runs have reported to the search before it starts a step, because
//   the supervisor of such a run may have been killed before it decided.
// - If the previous run is lost, begin() uses up the step numbers that the lost run may still use: slurmctld
//   ends a step by job and number, and would end the new one when the lost node returns.
// - begin() records the start before the step exists. So a run whose supervisor was killed has a start and no
//   end.
// - finish_run() makes the end visible to the search first, and creates the trial that replaces an invalid
//   one: the next incarnation finds both even if no end is recorded. Then finish_run() records the end, and
//   only then does the caller act on the outcome. change_outcome() records another end if the requeue has
//   failed or has made a new job.
// - Before record_outcome() records the end of a trial, it removes an empty DET_TRIAL_DIR, of the generation
//   of its own run only. A run that begins later and finds no end of this one can't exclude that this one
//   still runs, and makes its own generation. So no later run works in a directory that is removed. If the
//   supervisor is killed between the two, the run has no end, and the next run makes what it needs.
// - Other files that only running tasks need are removed after the end of a run is recorded, unless the trial
//   ends: no later run reads them.
// - A superseded run records nothing, because the trial belongs to the newer run.
//
// A step that is replaced in the same job is also cancelled by scancel, because a step whose srun is gone
// keeps its CPUs and GPUs. Ranks are asked to stop by a file and a line to srun's input, not by a signal,
// which proctrack/linuxproc would send to every process of the program.
#include "lane.hpp"

#include <det/checkpoint/storage/open_store.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/uuid.hpp>
#include <det/launch/supervisor/memory_cleanup.hpp>
#include <det/protocol/host_list.hpp>
#include <det/protocol/json.hpp>
#include <det/protocol/staged_file.hpp>
#include <det/protocol/step_requests.hpp>
#include <det/protocol/task_identity.hpp>
#include <det/sampler/decision_log.hpp>
#include <det/sampler/load_draw.hpp>
#include <det/search/search.hpp>
#include <det/slurm/srun.hpp>

#include <algorithm>
#include <csignal>
#include <fcntl.h>
#include <fmt/format.h>
#include <iterator>
#include <utility>

#include "ask_sampler.hpp"
#include "excluded_nodes.hpp"
#include "free_port.hpp"
#include "gather_run_facts.hpp"
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

/// The event of slurm.event_hook for the end of a run; empty for the causes that are not reported.
std::string_view event_of(Cause cause) {
    if (cause == Cause::finished || cause == Cause::stopped_by_search) return events::completed;
    if (cause == Cause::preempted || cause == Cause::time_limit) return events::preempted;
    if (cause == Cause::paused) return events::paused;
    if (cause == Cause::canceled) return events::canceled;
    if (cause == Cause::idle) return events::idle;
    bool const has_failed = counts_against_max_restarts(cause) || cause == Cause::node_failed ||
                            cause == Cause::not_launched || cause == Cause::invalid_hyperparameters ||
                            cause == Cause::checkpoint_damaged;
    return has_failed ? events::failed : "";
}

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

// How long the supervisor waits for an answer of the shared file system: it must see signals meanwhile.
constexpr std::chrono::seconds storage_limit{2};

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
    DET_TRY_ASSIGN(auto const allocation,
                   find_allocation(batch_job_, context_.environment, plan.resume.bad_hosts));
    plan.shape = decide_run_shape(batch_job_.spec, allocation);
    plan.hosts = compress_host_list(plan.shape.hosts);
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
    auto reading = StorageProbe::of_reading(record.layout().heartbeat(0));
    auto writing = StorageProbe::of_writing(record.layout().path());
    auto const record_layout = record.layout();
    run_.emplace(Run{std::move(plan),
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
                     context_.clock.now()});
    // The supervisor of an earlier run may have been killed before it recorded the end of the trial.
    if (follow_search() != RunAction::wait) return end_before_start();
    if (!beginning.end.empty())
        return record_outcome(
            {Cause::stopped_by_search, NextAction::stop, "the search ended it: " + beginning.end, {}});
    if (!beginning.failure.empty()) return end_without_hyperparameters(beginning.failure);
    run_->has_no_answer = !found;
    if (has_no_answer()) return Ok{};
    if (!refusal.empty()) return record_outcome({Cause::not_launched, NextAction::stop, refusal, {}});
    if (auto const& unusable = run_->plan.resume.refusal)
        return record_outcome(
            {Cause::checkpoint_damaged, NextAction::stop, unusable->message + "; " + unusable->hint, {}});
    if (!files)
        return record_outcome({Cause::not_launched, NextAction::stop, describe_failure(files.error()), {}});
    auto health = check_health(batch_job_, run_->plan, context_);
    if (!health)
        return record_outcome(
            {Cause::not_launched, NextAction::stop, health.error().message + "; " + health.error().hint, {}});
    run_->health = *std::move(health);
    if (has_unhealthy_nodes()) return Ok{};
    auto const staged = stage_files(batch_job_, run_->plan, context_);
    if (!staged)
        return record_outcome(
            {Cause::not_launched, NextAction::stop, staged.error().message + "; " + staged.error().hint, {}});
    if (!staged->empty()) environment.set(variables::stage, *staged);
    run_->output_begin_bytes = output_size_bytes(context_.output);
    run_->nodes = NodeWatch::start(batch_job_, run_->plan, run_->record.layout(), context_);
    if (run_->nodes) environment.set(variables::node_monitor, run_->nodes->address());
    if (run_->nodes) run_->nodes->confirm_newest_run(newest_run_limit());
    auto step = start_step(environment);
    if (!step) return record_outcome({Cause::not_launched, NextAction::stop, step.error().message, {}});
    run_->step.emplace(*std::move(step));
    warm_start_.begin(run_->plan.id.trial, run_->plan.resume.bad_hosts);
    if (sampler::is_custom(batch_job_.spec)) run_->sampler.emplace(batch_job_, context_, run_->record);
    notify(events::started, "", "");
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

DesiredState Lane::desired() const { return batch_job_.desired(run_->plan.id.trial.index); }

std::optional<std::string> Lane::check_for_silent_host(bool on_time) {
    if (!on_time) run_->heartbeats.restart();
    auto* const nodes = run_->nodes.get();
    if (nodes != nullptr) nodes->update();
    auto node = run_->heartbeats.check_for_silent_node(
        [nodes](int number) { return nodes != nullptr && nodes->is_heard(number); });
    if (nodes != nullptr)
        nodes->report_unconnected([this](int number) { return run_->heartbeats.has_file(number); });
    end_if_superseded();
    if (run_->heartbeats.is_any_overdue() && !can_write_storage()) {
        run_->heartbeats.restart();
        return std::nullopt;
    }
    auto const without_slurmstepd = run_->heartbeats.find_node_without_slurmstepd();
    if (without_slurmstepd) node = without_slurmstepd;
    if (!node) return std::nullopt;
    if (!run_->machine.was_killed()) run_->is_slurmstepd_gone = without_slurmstepd.has_value();
    auto const hosts = expand_host_list(run_->plan.hosts);
    return hosts ? hosts->at(static_cast<std::size_t>(*node)) : std::to_string(*node);
}

/// Lets the nodes end if a newer run of the trial exists: this one was cut off. Nodes look themselves if they
/// are not connected, or if two checks have not told this process that there is none.
void Lane::end_if_superseded() {
    if (!run_->nodes) return;
    auto const is_superseded = run_->record.has_newer_run();
    if (is_superseded == true) run_->nodes->request(transport::node_requests::superseded);
    if (is_superseded == false) run_->nodes->confirm_newest_run(newest_run_limit());
}

/// Two checks of the heartbeats, and the time by which one may be late.
std::chrono::milliseconds Lane::newest_run_limit() const {
    std::chrono::milliseconds const silence =
        silence_limit([this](auto name) { return context_.environment.find(name); });
    return silence * 5 / (2 * HeartbeatMonitor::checks_until_silent);
}

RunAction Lane::look_at_nodes(RunStateMachine::Time now) {
    if (!run_->nodes) return RunAction::wait;
    auto& lost_hosts = run_->lost_hosts;
    auto const found = run_->nodes->find_lost();
    if (run_->nodes->is_any_killed() && !run_->has_killed_node && storage_answers() && can_write_storage()) {
        run_->has_killed_node = true;
        run_->record.mark_killed_node();
    }
    std::vector<int> refusing;
    for (auto const& [node, host, is_node_lost] : found) {
        if (!is_node_lost)
            refusing.push_back(node);
        else if (std::ranges::find(lost_hosts, host) == lost_hosts.end())
            lost_hosts.push_back(host);
    }
    if (!lost_hosts.empty()) {
        bool const have_others_ended = run_->nodes->have_others_ended(lost_hosts);
        auto const action = run_->machine.on_lost_node(lost_hosts.front(), now);
        if (have_others_ended) run_->machine.on_others_ended(now);
        return action;
    }
    auto const gone = run_->gone.find(
        refusing, now,
        {[this] { return storage_answers() && can_write_storage(); },
         [this](int node) { return read_heartbeat_ns(run_->record.layout().heartbeat(node)); }});
    if (!gone) return RunAction::wait;
    return run_->machine.on_silence(std::ranges::find(found, *gone, &NodeWatch::Lost::node)->host, now);
}

std::vector<std::optional<std::string>> Lane::find_activity() const {
    std::vector<std::optional<std::string>> activity(static_cast<std::size_t>(run_->plan.shape.task_nodes));
    for (std::size_t node = 0; run_->nodes && node < activity.size(); ++node)
        activity[node] = run_->nodes->find_activity(static_cast<int>(node));
    return activity;
}

bool Lane::storage_answers() { return run_->reading.ask(storage_limit); }

/// Whether the run's directory can be written. If not, wrappers can't write heartbeats either, and their age
/// means nothing.
bool Lane::can_write_storage() {
    bool const is_writable = run_->writing.ask(storage_limit);
    if (!is_writable && !std::exchange(run_->has_storage_failed, true))
        context_.log(fmt::format("run {}: '{}' can't be written: heartbeats are not awaited meanwhile",
                                 to_string(id()), run_->record.layout().path().string()));
    if (is_writable) run_->has_storage_failed = false;
    return is_writable;
}

RunAction Lane::check_hang(RunStateMachine::Time now) {
    auto const due = run_->hang.next_check();
    if (!due || now < *due) return RunAction::wait;
    if (run_->nodes) run_->nodes->update();
    auto const progress = read_progress(batch_job_.experiment.trial(id().trial.index), run_->record.layout(),
                                        find_activity(), batch_job_.spec.progress_globs);
    return run_->hang.check(progress, now) ? run_->machine.on_hang(now) : RunAction::wait;
}

RunAction Lane::check_idle(RunStateMachine::Time now) {
    auto const due = run_->idle.next_check();
    if (!due || now < *due) return RunAction::wait;
    auto const use = run_->use.read(run_->plan.shape.task_nodes);
    log_unknown_use(use);
    auto const idle = run_->idle.check(use, now);
    if (!idle || run_->machine.is_ending()) return RunAction::wait;
    auto const text = describe_idle(batch_job_.spec.shape.slot_type, *idle);
    if (!find_idle_policy(batch_job_.spec)->ends_run) {
        warn_of_idle_run(text);
        return RunAction::wait;
    }
    context_.log(fmt::format("run {} is idle and ends: {}", to_string(id()), text));
    run_->idle_use = text;
    return run_->machine.on_idle(now);
}

int Lane::find_nodes_after_requeue() const {
    auto const& run = run_->plan.shape;
    auto const nodes = context_.slurm.query_nodes();
    if (!nodes) return run.shape.nodes;
    auto bad = bad_hosts_of(batch_job_);
    std::ranges::copy(run_->plan.resume.bad_hosts, std::back_inserter(bad));
    auto const possible = nodes_after_requeue(batch_job_, run, bad, *nodes);
    // The queue is long on some clusters: it is only read if nodes are idle.
    if (possible <= run.shape.nodes) return possible;
    auto const jobs = context_.slurm.query_queue({});
    return jobs && !waits_another_job(batch_job_, *nodes, *jobs) ? possible : run.shape.nodes;
}

RunAction Lane::check_grow(RunStateMachine::Time now) {
    auto const due = run_->grow.next_check();
    if (!due || now < *due) return RunAction::wait;
    auto const& run = run_->plan.shape;
    auto const possible = find_nodes_after_requeue();
    bool const can_grow = possible > run.shape.nodes && can_write_storage();
    auto const checkpoints = can_grow ? run_->record.count_checkpoints() : std::size_t{0};
    bool const grows = run_->grow.check(can_grow, checkpoints, now);
    if (!grows || run_->machine.is_ending()) return RunAction::wait;
    context_.log(fmt::format("run {} saves and is queued again: it has {} of {} nodes, and {} are possible",
                             to_string(id()), run.shape.nodes, batch_job_.spec.shape.nodes, possible));
    return run_->machine.on_grow(now);
}

void Lane::warn_of_idle_run(std::string const& use) {
    context_.log(fmt::format("run {} is idle: {}", to_string(id()), use));
    notify(events::idle, use, "");
    if (!can_write_storage()) return;
    AlertRaised const alert{context_.clock.now(), "the run is idle", use, "warn"};
    if (auto const recorded = run_->record.record_alert(alert); !recorded)
        context_.log(fmt::format("run {}: {}", to_string(id()), recorded.error().message));
}

/// Logs once that a node can't read how much its GPUs are used: such a run is never idle.
void Lane::log_unknown_use(RunUse const& use) {
    bool const is_unknown = std::ranges::any_of(
        use.nodes, [](auto const& node) { return node && node->windows > 0 && !node->percent; });
    if (!is_unknown || std::exchange(run_->is_use_unknown, true)) return;
    context_.log(
        fmt::format("run {}: how much a node's GPUs are used can't be read: slurm.idle_timeout has no effect",
                    to_string(id())));
}

void Lane::log_search_error(Error const& error) {
    if (run_->search_error != error.message)
        context_.log(fmt::format("run {}: the search waits: {}", to_string(id()), error.message));
    run_->search_error = error.message;
}

RunAction Lane::follow_sampler() {
    auto& sampler = *run_->sampler;
    if (auto const followed = sampler.follow(run_->record); !followed) log_search_error(followed.error());
    return sampler.end().empty() ? RunAction::wait : run_->machine.on_search_end(context_.clock.steady_now());
}

RunAction Lane::follow_search() {
    if (run_->sampler) return follow_sampler();
    if (!run_->search) return RunAction::wait;
    auto& search = *run_->search;
    if (auto const followed = search.follow(run_->record, context_.clock); !followed) {
        log_search_error(followed.error());
        return RunAction::wait;  // the next call tries again
    }
    auto const now = context_.clock.steady_now();
    if (!search.invalid_report_reason().empty()) return run_->machine.on_invalid_report(now);
    return search.end_decision() ? run_->machine.on_search_end(now) : RunAction::wait;
}

void Lane::ask_to_stop() {
    if (!run_->step) return;
    send_request(step_requests::stop);
    if (run_->nodes) run_->nodes->request(transport::node_requests::stop);
    context_.log(fmt::format("run {} is asked to stop ({})", to_string(id()),
                             lifecycle::to_string(run_->machine.stop_reason())));
    write_request([&] { return run_->record.ask_to_stop(run_->machine.stop_reason()); });
}

void Lane::show_stacks() {
    context_.log(fmt::format("run {} hangs: no step was reported and no collective operation ended for {} s",
                             to_string(id()), *batch_job_.spec.hang_timeout_s));
    if (!run_->step) return;
    send_request(step_requests::stacks);
    if (run_->nodes) run_->nodes->request(transport::node_requests::stacks);
    write_request([&] { return run_->record.write_stacks_request(); });
}

/// Writes the file of a request, for wrappers that the line to srun does not reach: they look for the file
/// with their next heartbeat. Does nothing if the file system does not answer.
template <class Write>
void Lane::write_request(Write const& write) {
    if (!can_write_storage()) return;
    if (auto const written = write(); !written)
        context_.log(
            fmt::format("the file of a request to run {}: {}", to_string(id()), written.error().message));
}

void Lane::send_request(std::string_view request) {
    if (!run_->step) return;
    if (auto const sent = run_->step->write_line(request); !sent)
        context_.log(
            fmt::format("run {} may see the request late: {}", to_string(id()), sent.error().message));
}

void Lane::kill_step() {
    context_.log(fmt::format("run {} is killed", to_string(id())));
    if (batch_job_.is_script()) return send_request(step_requests::end);
    if (run_->step) run_->step->signal(SIGTERM);  // srun ends all tasks of the step on all nodes
}

void Lane::signal_script(int number) {
    run_->was_signalled = run_->was_signalled || number != SIGTERM;
    if (run_->step) run_->step->signal(number);
}

void Lane::notify_script() {
    if (!run_->step || std::exchange(run_->was_notified, true)) return;
    send_request(step_requests::notice);
    context_.log(fmt::format("run {}: Slurm preempts the job: the script gets the notice", to_string(id())));
}

void Lane::abandon_step() {
    context_.log(fmt::format("the step of run {} does not end: it is given up", to_string(id())));
    mark_abandoned();
    if (run_->step) run_->step->signal(SIGKILL);
    cancel_step();
}

void Lane::mark_abandoned() {
    if (auto const marked = run_->record.mark_abandoned(); !marked)
        context_.log(fmt::format("run {}: {}", to_string(id()), marked.error().message));
}

/// A step whose srun is gone or ignores a signal still holds its CPUs and memory, so that the next step could
/// not start.
void Lane::cancel_step() {
    auto const cleared = batch_job_.is_script() ? context_.slurm.cancel_steps(batch_job_.job)
                                                : context_.slurm.cancel_step(batch_job_.job, to_string(id()));
    if (!cleared)
        context_.log(fmt::format("what is left of run {} may keep its CPUs and memory: {}", to_string(id()),
                                 cleared.error().message));
}

void Lane::note_allocation(std::optional<slurm::JobStatus> const& job) {
    if (has_new_allocation(job) && can_write_storage()) record_allocation(*job);
}

bool Lane::has_new_allocation(std::optional<slurm::JobStatus> const& job) const {
    if (!job || !lifecycle::is_same_incarnation(batch_job_.incarnation, *job)) return false;
    bool const has_ended = job->state == slurm::JobState::completing || slurm::is_over(job->state);
    return has_ended || !run_->has_allocation;
}

void Lane::record_allocation(slurm::JobStatus const& job) {
    run_->has_allocation = true;
    auto const recorded = run_->record.record_allocation(context_.clock.now(), job);
    if (!recorded) context_.log(fmt::format("run {}: {}", to_string(id()), recorded.error().message));
}

Status Lane::finish_run(int exit_code, std::optional<slurm::JobStatus> const& job, bool slurm_answered) {
    if (has_new_allocation(job)) record_allocation(*job);
    if (!run_->machine.silent_host().empty()) mark_abandoned();
    // A batch script may handle the failure of a rank: its own code counts.
    bool const is_own_code = exit_code == 0 || batch_job_.is_script();
    run_->exit_code = is_own_code ? exit_code : run_->record.first_failure().value_or(exit_code);
    DET_TRY_ASSIGN(auto facts, gather_facts(batch_job_, context_,
                                            {run_->plan, run_->record, run_->machine, run_->health,
                                             run_->lost_hosts, run_->exit_code, run_->output_begin_bytes}));
    facts.idle_use = run_->idle_use;
    facts.is_slurmstepd_gone = run_->is_slurmstepd_gone;
    facts.job = job;
    facts.slurm_answered = slurm_answered;
    facts.search = gather_search_facts();
    if (slurm_answered) add_successor(facts);
    if (was_warned_of_time_limit(facts)) facts.stop_reason = lifecycle::StopReason::time_limit;
    auto outcome = lifecycle::classify_run_end(facts);
    if (outcome.cause == Cause::finished && may_train_on())
        outcome = {Cause::waits_for_search, NextAction::requeue_held,
                   fmt::format("it has trained to length {}: the sampler may let it train on",
                               *run_->plan.training_length)};
    if (outcome.cause != Cause::superseded) {
        DET_TRY(repeat_write(context_, AtNotice::go_on, [&] { return apply_to_search(outcome); }));
        return record_outcome(std::move(outcome));
    }
    // Another incarnation owns the trial now: this one writes nothing more into its directory.
    context_.log(fmt::format("run {}: {}", to_string(id()), outcome.message));
    run_->outcome = std::move(outcome);
    return Ok{};
}

/// Whether the sampler has set the length to which the run has trained, and may let the trial train on.
bool Lane::may_train_on() const {
    if (!run_->plan.training_length) return false;
    auto const decisions = sampler::load_decisions(batch_job_.experiment);
    return !decisions || !decisions->is_closed(id().trial.index);
}

/// Whether a batch script has ended after the signal that it asked for before its time limit (`--signal=B:`):
/// it has more to do.
bool Lane::was_warned_of_time_limit(lifecycle::RunFacts const& facts) const {
    constexpr std::chrono::seconds slurms_resolution{60};
    auto const warning = find_warning_time(batch_job_.spec.sbatch_options);
    auto const& job = facts.job;
    bool const may_be = batch_job_.is_script() && run_->was_signalled && facts.successor.empty() &&
                        !facts.was_killed && facts.stop_reason == lifecycle::StopReason::none;
    if (!may_be || !warning || !job || job->state != slurm::JobState::running || !job->end_time) return false;
    auto const left =
        std::chrono::microseconds(job->end_time->microseconds - context_.clock.now().microseconds);
    return left <= *warning + slurms_resolution;
}

/// Looks for the job by which a batch script goes on. A successor that waits, and does the same as this job,
/// is cancelled: this job is queued again in its place, and stays one of the experiment.
void Lane::add_successor(lifecycle::RunFacts& facts) {
    bool const ends_here = facts.job && facts.job->state == slurm::JobState::running && !facts.was_killed;
    if (!batch_job_.is_script() || !ends_here || facts.desired != DesiredState::run) return;
    auto const found = find_successor(batch_job_, run_->began, context_.slurm);
    if (!found) {
        context_.log(fmt::format("whether the script has submitted its successor is not known: {}",
                                 found.error().message));
        return;
    }
    if (!*found) return;
    auto const successor = slurm::to_string((*found)->job);
    if ((*found)->is_replaceable && context_.slurm.cancel((*found)->job)) {
        facts.asks_for_requeue = true;
        facts.requeue_request = fmt::format("it had submitted job {}, which this one replaces", successor);
    } else {
        facts.successor = successor;
    }
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

lifecycle::SearchFacts Lane::gather_search_facts() {
    lifecycle::SearchFacts facts;
    facts.is_invalid = run_->record.has_invalid_hyperparameters();
    if (run_->sampler) facts.end = run_->sampler->end();
    if (!run_->search) return facts;
    // What the ranks have reported is decided before the end of the run is recorded.
    (void)repeat_write(context_, AtNotice::go_on, [&] {
        run_->search->open_again();
        return run_->search->follow(run_->record, context_.clock);
    });
    follow_search();  // logs an error that remains
    auto const& search = *run_->search;
    facts.end = search.describe_end();
    facts.is_complete = search.end_decision() && search.end_decision()->decision == "complete";
    facts.invalid_report_reason = search.invalid_report_reason();
    return facts;
}

/// Makes the end of this trial visible to the other trials of its search. Replaces a trial with invalid
/// hyperparameters.
Status Lane::apply_to_search(lifecycle::RunOutcome& outcome) {
    bool const has_failed =
        outcome.next_action == NextAction::stop &&
        (counts_against_max_restarts(outcome.cause) || outcome.cause == Cause::not_launched ||
         outcome.cause == Cause::checkpoint_damaged || outcome.cause == Cause::idle);
    if (has_failed && run_->search) return run_->search->add_failure();
    if (outcome.cause != Cause::invalid_hyperparameters) return Ok{};
    if (run_->search) DET_TRY(run_->search->remove_entries());
    DET_TRY_ASSIGN(auto const replacement, claims_.claim_replacement(id().trial.index));
    if (replacement) outcome.message += fmt::format("; trial {} replaces it", *replacement);
    return Ok{};
}

void Lane::remove_snapshots() {
    bool const is_superseded = run_->outcome && run_->outcome->cause == Cause::superseded;
    if (!keeps_in_memory(batch_job_.spec) || is_superseded || !poll_exit()) return;
    auto except = bad_hosts();  // a step is not started if one of its nodes is lost
    except.insert(except.end(), run_->lost_hosts.begin(), run_->lost_hosts.end());
    remove_snapshots_on_nodes(batch_job_, context_, id().trial, except);
}

std::vector<std::string> Lane::bad_hosts() const {
    auto hosts = run_->plan.resume.bad_hosts;
    if (!run_->outcome) return hosts;
    std::ranges::copy_if(run_->outcome->bad_hosts, std::back_inserter(hosts),
                         [&](auto const& host) { return std::ranges::find(hosts, host) == hosts.end(); });
    return hosts;
}

Status Lane::change_outcome(lifecycle::RunOutcome outcome) { return record_end(std::move(outcome)); }

void Lane::notify(std::string_view event, std::string const& message, std::string_view next) const {
    Json body{{"trial", to_string(id().trial)},
              {"run", id().number},
              {"job", slurm::to_string(batch_job_.job)},
              {"hosts", run_->plan.hosts},
              {"time", format_utc(context_.clock.now())}};
    if (!message.empty()) body["message"] = message;
    if (!next.empty()) body["next"] = next;
    hook_.notify(event, body);
}

/// Removes what no later run and no reader needs, so that a search of many trials leaves few files. Does
/// nothing while tasks may live or if Slurm ends them: a task that was cut off keeps its directory.
/// \return whether no task lives
bool Lane::remove_files_of_tasks(NextAction next_action) {
    bool const has_step_ended =
        poll_exit() && run_->machine.silent_host().empty() && run_->lost_hosts.empty();
    return has_step_ended && next_action != NextAction::left_to_slurm && run_->record.remove_files_of_tasks();
}

/// Removes the files of the tasks, and DET_TRIAL_DIR if it is empty, before the end of the trial is recorded.
void Lane::remove_files_of_trial() {
    bool const may_remove = remove_files_of_tasks(NextAction::stop) && run_->record.has_newer_run() == false;
    if (!may_remove || run_->plan.trial_dir.empty()) return;
    remove_unused_trial_files(batch_job_.experiment.trial(id().trial.index),
                              GenerationLayout(std::filesystem::path(run_->plan.trial_dir).parent_path()));
}

Status Lane::record_outcome(lifecycle::RunOutcome outcome) {
    // Slurm kills this process soon after its notice: then the end is recorded first.
    bool const ends_trial = outcome.next_action == NextAction::stop && !run_->machine.notice_received();
    if (ends_trial) remove_files_of_trial();
    auto const recorded = record_end(std::move(outcome));
    auto const& recorded_outcome = *run_->outcome;
    if (recorded && !ends_trial) (void)remove_files_of_tasks(recorded_outcome.next_action);
    auto const event = event_of(recorded_outcome.cause);
    if (!event.empty()) notify(event, recorded_outcome.message, to_string(recorded_outcome.next_action));
    return recorded;
}

Status Lane::record_end(lifecycle::RunOutcome outcome) {
    context_.log(fmt::format("run {} ended: {} ({}, {})", to_string(id()), outcome.message,
                             to_string(outcome.cause), to_string(outcome.next_action)));
    auto const ended = context_.clock.now();
    auto const recorded = repeat_write(context_, AtNotice::go_on,
                                       [&] { return run_->record.end(ended, outcome, run_->exit_code); });
    remember_bad_nodes(batch_job_, context_, outcome);
    run_->outcome = std::move(outcome);
    return recorded;
}

void Lane::wait_and_clear() {
    if (run_ && run_->step) run_->step->wait();
    if (run_) ports_.release(run_->plan.ports);
    run_.reset();
}

}  // namespace det::launch::supervisor
