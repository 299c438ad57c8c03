// What a lane looks at while its run goes on: the shared file system, the nodes, whether the run makes
// progress or is idle, whether it could have more nodes, and what it has reported to its search. A check that
// finds something returns what the run's state machine makes of it.
#include <det/protocol/host_list.hpp>
#include <det/protocol/task_identity.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <utility>

#include "excluded_nodes.hpp"
#include "gather_run_facts.hpp"
#include "lane.hpp"
#include "resume_point.hpp"
#include "srun_errors.hpp"

namespace det::launch::supervisor {
namespace {

// How long the supervisor waits for an answer of the shared file system: it must see signals meanwhile.
constexpr std::chrono::seconds storage_limit{2};

}  // namespace

DesiredState Lane::desired() const { return batch_job_.desired(run_->plan.id.trial.index); }

std::optional<std::string> Lane::check_for_silent_host(bool on_time) {
    if (!on_time) run_->heartbeats.restart();
    auto* const nodes = run_->nodes.get();
    if (nodes != nullptr) nodes->update();
    auto node = run_->heartbeats.check_for_silent_node(
        [nodes](int number) { return nodes != nullptr ? nodes->contact(number) : NodeContact::unwatched; });
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
         [silent = SilentNodes(run_->record.layout())](int node) mutable { return silent.read_ns(node); }});
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

RunAction Lane::check_step_refusal(RunStateMachine::Time now) {
    if (!run_->refusal.take(now)) return RunAction::wait;
    if (run_->nodes) run_->nodes->update();
    bool const has_connected = run_->nodes && run_->nodes->count_connected() > 0;
    if (has_connected || has_begun(run_->record.layout())) {
        run_->refusal.end();
        return RunAction::wait;
    }
    if (run_->machine.is_ending()) return RunAction::wait;
    auto const reason = find_step_refusal(now);
    if (reason.empty()) return RunAction::wait;
    run_->step_refusal =
        fmt::format("for {} s Slurm has created no step ({})",
                    std::chrono::floor<std::chrono::seconds>(now - run_->step_began).count(), reason);
    return run_->machine.on_refused_step(now);
}

/// Why Slurm does not create the run's step; empty: nothing shows that it does not. After a node was cut off
/// and the job was queued again onto it, slurmctld may show a node of the running job as idle, and creates no
/// step on it any more (seen with 22.05.8). Probably it takes the node from the job because the node reports
/// the end of the former execution late; no line of Slurm's logs shows that.
std::string Lane::find_step_refusal(RunStateMachine::Time now) {
    // A pipe has no size, and must not be read.
    bool const has_output = output_size_bytes(context_.output) > run_->output_begin_bytes;
    auto const output =
        has_output ? read_output_part(context_.output, run_->output_begin_bytes) : std::string();
    if (auto const words = supervisor::find_step_refusal(output); !words.empty()) return std::string(words);
    if (!run_->refusal.may_query(now)) return "";
    auto const nodes = context_.slurm.query_nodes();
    run_->refusal.end_query(nodes.has_value(), context_.clock.steady_now());
    auto const hosts = expand_host_list(run_->plan.hosts);
    if (!nodes || !hosts) return "";
    auto const taken = std::ranges::find_if(*nodes, [&](auto const& node) {
        // Its CPUs still count as used.
        bool const is_idle =
            node.state.starts_with("idle") && node.state.find("completing") == node.state.npos;
        return is_idle && std::ranges::find(*hosts, node.name) != hosts->end();
    });
    return taken == nodes->end() ? "" : fmt::format("its node {} is idle for Slurm", taken->name);
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

}  // namespace det::launch::supervisor
