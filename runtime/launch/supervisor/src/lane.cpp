#include "lane.hpp"

#include <det/checkpoint/storage/open_store.hpp>
#include <det/journal/event_log.hpp>
#include <det/launch/supervisor/log_policies.hpp>
#include <det/protocol/host_list.hpp>
#include <det/protocol/task_identity.hpp>
#include <det/search/search.hpp>

#include <algorithm>
#include <csignal>
#include <fmt/format.h>

#include "step_support.hpp"

namespace det::launch::supervisor {
namespace {

using Hosts = std::vector<std::string>;

bool contains(Hosts const& hosts, std::string const& host) {
    return std::find(hosts.begin(), hosts.end(), host) != hosts.end();
}

/// As many of the job's nodes as the run needs, without the nodes that the trial must not use if possible.
Result<std::string> choose_hosts(Assignment const& assignment, Hosts const& bad) {
    if (assignment.spec.spare_nodes == 0) return assignment.hosts;
    DET_TRY_ASSIGN(auto hosts, expand_host_list(assignment.hosts));
    auto const needed = static_cast<std::size_t>(assignment.spec.shape.nodes);
    auto good = hosts;
    std::erase_if(good, [&](auto const& host) { return contains(bad, host); });
    // If there are too few good nodes, the run uses the first nodes of the job.
    auto& chosen = good.size() >= needed ? good : hosts;
    chosen.resize(std::min(chosen.size(), needed));
    return compress_host_list(chosen);
}

/// Slurm's states of a failed node: "down", "down*", "fail", "idle*".
bool has_failed(slurm::Node const& node) {
    return node.state.starts_with("down") || node.state.starts_with("fail") || node.state.ends_with('*');
}

}  // namespace

Result<RunPlan> Lane::plan_run(std::uint32_t trial) const {
    RunPlan plan;
    DET_TRY_ASSIGN(plan.id, RunRecord::create_next(assignment_, {assignment_.spec.id, trial}));
    DET_TRY_ASSIGN(auto const store, checkpoint::storage::open_store(assignment_.spec, context_.environment));
    DET_TRY_ASSIGN(plan.resume,
                   find_resume_point(assignment_.experiment.trial(trial),
                                     {assignment_.spec.first_run_of(trial), plan.id.number}, *store));
    DET_TRY_ASSIGN(plan.hosts, choose_hosts(assignment_, plan.resume.bad_hosts));
    DET_TRY_ASSIGN(auto const draw, search::draw_trial(assignment_.spec, trial));
    plan.trial_seed = draw.seed;
    plan.master_port = find_free_port();
    return plan;
}

Status Lane::begin(std::uint32_t trial) {
    DET_TRY_ASSIGN(auto plan, plan_run(trial));
    DET_TRY_ASSIGN(auto record,
                   RunRecord::begin(assignment_, plan.id, plan.resume, plan.hosts, context_.clock.now()));
    context_.log(fmt::format("run {} begins on {} at step {}", to_string(plan.id), plan.hosts,
                             plan.resume.steps_completed));
    if (plan.resume.is_predecessor_lost && assignment_.incarnation.restart_count > 0)
        skip_step_numbers(context_);
    auto const environment = make_run_environment(assignment_, plan, context_.environment);
    auto const argv = slurm::render_srun(make_step_request(assignment_, plan, context_.wrap_rank));
    RunStateMachine const watch(std::chrono::seconds(assignment_.spec.preemption_timeout_s));
    HeartbeatMonitor heartbeats(record.layout(), assignment_.spec.shape.nodes);
    run_.emplace(Run{std::move(plan),
                     std::move(record),
                     watch,
                     std::move(heartbeats),
                     {},
                     {},
                     0,
                     output_size_bytes(context_.output)});
    auto step = slurm::StepProcess::start(argv, environment);
    if (!step) return record_outcome({Cause::not_launched, NextAction::stop, step.error().message, {}});
    run_->step.emplace(*std::move(step));
    return Ok{};
}

Desired Lane::desired() const {
    auto const& experiment = assignment_.experiment;
    auto const of_all = journal::load_desired(experiment.desired());
    auto const of_trial = journal::load_desired(experiment.trial(run_->plan.id.trial.index).desired());
    return stricter(of_all.value_or(Desired::run), of_trial.value_or(Desired::run));
}

std::optional<std::string> Lane::find_silent_host(bool on_time) {
    if (!on_time) run_->heartbeats.restart();
    auto const node = run_->heartbeats.find_silent_node();
    if (!node) return std::nullopt;
    auto const hosts = expand_host_list(run_->plan.hosts);
    return hosts ? hosts->at(static_cast<std::size_t>(*node)) : std::to_string(*node);
}

void Lane::ask_to_stop() {
    if (!run_->step) return;
    auto const asked = run_->record.ask_to_stop(run_->machine.stop_reason());
    if (!asked)
        context_.log(
            fmt::format("run {} can't be asked to stop: {}", to_string(id()), asked.error().message));
    context_.log(fmt::format("run {} is asked to stop ({})", to_string(id()),
                             lifecycle::to_string(run_->machine.stop_reason())));
    run_->step->signal(SIGUSR2);  // srun passes it to every task of this step only
}

void Lane::kill_step() {
    context_.log(fmt::format("run {} is killed", to_string(id())));
    if (run_->step) run_->step->signal(SIGTERM);  // srun ends all tasks of the step on all nodes
}

void Lane::abandon_step() {
    context_.log(fmt::format("the step of run {} does not end: it is given up", to_string(id())));
    if (run_->step) run_->step->signal(SIGKILL);
    clear_step();
}

/// A step whose srun is gone still holds its CPUs and memory, so that the next step could not start.
void Lane::clear_step() {
    if (auto const cleared = context_.slurm.cancel_step(assignment_.job, to_string(id())); !cleared)
        context_.log(fmt::format("what is left of run {} may be in the way: {}", to_string(id()),
                                 cleared.error().message));
}

Status Lane::finish_run(int exit_code, std::optional<slurm::JobStatus> const& job, bool slurm_answered) {
    run_->exit_code = exit_code == 0 ? 0 : run_->record.first_failure().value_or(exit_code);
    DET_TRY_ASSIGN(auto facts, gather_facts());
    facts.job = job;
    facts.slurm_answered = slurm_answered;
    if (exit_code != 0 && run_->machine.stop_reason() == lifecycle::StopReason::none) {
        DET_TRY(add_log_policies(facts));
        DET_TRY(add_failed_nodes(facts));
        if (facts.bad_nodes.hosts.empty()) DET_TRY(add_unreached_nodes(facts));
        facts.refused_by_srun = find_srun_refusal();
    }
    auto outcome = lifecycle::classify_run_end(facts);
    if (outcome.cause != Cause::superseded) return record_outcome(std::move(outcome));
    // Another incarnation owns the trial now: this one writes nothing more into its directory.
    context_.log(fmt::format("run {}: {}", to_string(id()), outcome.message));
    run_->outcome = std::move(outcome);
    return Ok{};
}

Result<lifecycle::RunFacts> Lane::gather_facts() const {
    DET_TRY_ASSIGN(auto const store, checkpoint::storage::open_store(assignment_.spec, context_.environment));
    auto const& resume = run_->plan.resume;
    lifecycle::RunFacts facts;
    facts.incarnation = assignment_.incarnation;
    facts.step_exit_code = run_->exit_code;
    facts.stop_reason = run_->machine.stop_reason();
    facts.was_killed = run_->machine.was_killed();
    facts.silent_host = run_->machine.silent_host();
    facts.shares_node = assignment_.spec.lanes > 1;
    facts.notice_received = run_->machine.notice_received();
    facts.preemption_acknowledged = run_->record.was_acknowledged();
    facts.higher_run_exists = run_->record.has_newer_run();
    facts.desired = desired();
    facts.restarts = resume.restarts;
    facts.restarts_max = assignment_.spec.max_restarts;
    facts.failures_without_progress = resume.failures_without_progress;
    facts.slurm_failures_in_a_row = resume.slurm_failures_in_a_row;
    facts.has_begun_before = resume.has_begun_before;
    facts.has_progressed = run_->record.has_progressed(resume.steps_completed, *store);
    return facts;
}

Status Lane::add_log_policies(lifecycle::RunFacts& facts) const {
    auto const& spec = assignment_.spec;
    auto const found = match_log_policies(spec.log_policies, run_->record.layout(), spec.shape.nodes);
    if (!found) {
        context_.log(fmt::format("the log policies are passed over: {}", found.error().message));
        return Ok{};
    }
    facts.cancels_retries = found->cancels_retries;
    if (found->bad_nodes.empty()) return Ok{};
    DET_TRY_ASSIGN(auto const hosts, expand_host_list(run_->plan.hosts));
    for (auto const node : found->bad_nodes)
        facts.bad_nodes.hosts.push_back(hosts.at(static_cast<std::size_t>(node)));
    facts.bad_nodes.why = fmt::format("the log policy '{}' excludes", found->bad_nodes_by);
    return count_good_nodes(facts.bad_nodes);
}

/// Adds the run's nodes that Slurm has lost. Without spare nodes this is not needed: Slurm requeues the job.
Status Lane::add_failed_nodes(lifecycle::RunFacts& facts) const {
    if (assignment_.spec.spare_nodes == 0) return Ok{};
    auto const nodes = context_.slurm.nodes();
    if (!nodes) return Ok{};
    DET_TRY_ASSIGN(auto const hosts, expand_host_list(run_->plan.hosts));
    lifecycle::BadNodes bad;
    for (auto const& node : *nodes) {
        if (contains(hosts, node.name) && has_failed(node) && !contains(bad.hosts, node.name))
            bad.hosts.push_back(node.name);
    }
    if (bad.hosts.empty()) return Ok{};
    bad.why = "Slurm has lost";
    bad.is_failure_of_trial = false;
    facts.bad_nodes = std::move(bad);
    return count_good_nodes(facts.bad_nodes);
}

/// srun's error message if srun ended with exit code 1 before any task started; otherwise empty.
std::string Lane::find_srun_refusal() const {
    constexpr int refused = 1;
    if (run_->exit_code != refused || has_begun(run_->record.layout())) return "";
    return find_srun_error(context_.output, run_->output_begin_bytes);
}

/// Adds the nodes on which srun could not start a task. The network to a node or its slurmd may be down for a
/// moment. This does not count as a failure of the trial, because no task has started there.
Status Lane::add_unreached_nodes(lifecycle::RunFacts& facts) const {
    // An exit code above 128 + 64, an error number of Slurm, means that srun could not start all tasks.
    constexpr int signals_end = 128 + 64;
    if (run_->exit_code <= signals_end) return Ok{};
    DET_TRY_ASSIGN(auto const hosts, expand_host_list(run_->plan.hosts));
    lifecycle::BadNodes bad;
    for (auto const node : run_->record.nodes_not_reached(static_cast<int>(hosts.size())))
        bad.hosts.push_back(hosts.at(static_cast<std::size_t>(node)));
    if (bad.hosts.empty()) return Ok{};
    bad.why = "Slurm could start nothing on";
    bad.is_failure_of_trial = false;
    bad.may_come_back = true;
    facts.bad_nodes = std::move(bad);
    return count_good_nodes(facts.bad_nodes);
}

Status Lane::count_good_nodes(lifecycle::BadNodes& bad) const {
    auto all_bad = bad_hosts();
    all_bad.insert(all_bad.end(), bad.hosts.begin(), bad.hosts.end());
    auto const needed = assignment_.spec.shape.nodes;
    DET_TRY_ASSIGN(auto const here, expand_host_list(assignment_.hosts));
    auto const good_here =
        std::count_if(here.begin(), here.end(), [&](auto const& host) { return !contains(all_bad, host); });
    bad.is_enough_here = assignment_.spec.spare_nodes > 0 && good_here >= needed;
    auto const nodes = context_.slurm.nodes();
    if (!nodes) return Ok{};
    auto const good = std::count_if(nodes->begin(), nodes->end(), [&](auto const& node) {
        return node.partition == assignment_.partition && !node.is_unavailable() &&
               !contains(all_bad, node.name);
    });
    bad.is_enough_elsewhere =
        good >= assignment_.spec.shape.nodes + static_cast<int>(assignment_.spec.spare_nodes);
    return Ok{};
}

std::vector<std::string> Lane::bad_hosts() const {
    auto hosts = run_->plan.resume.bad_hosts;
    if (run_->outcome)
        hosts.insert(hosts.end(), run_->outcome->bad_hosts.begin(), run_->outcome->bad_hosts.end());
    return hosts;
}

Status Lane::change_outcome(lifecycle::RunOutcome outcome) { return record_outcome(std::move(outcome)); }

Status Lane::record_outcome(lifecycle::RunOutcome outcome) {
    context_.log(fmt::format("run {} ended: {} ({}, {})", to_string(id()), outcome.message,
                             to_string(outcome.cause), to_string(outcome.next_action)));
    auto const recorded = run_->record.end(context_.clock.now(), outcome, run_->exit_code);
    run_->outcome = std::move(outcome);
    return recorded;
}

void Lane::wait_and_clear() {
    if (run_ && run_->step) run_->step->wait();
    run_.reset();
}

}  // namespace det::launch::supervisor
