#include "gather_run_facts.hpp"

#include <det/checkpoint/storage/open_store.hpp>
#include <det/foundation/text.hpp>
#include <det/journal/reader.hpp>
#include <det/protocol/forward_signals.hpp>
#include <det/protocol/host_list.hpp>
#include <det/telemetry/waits/straggler.hpp>

#include <algorithm>
#include <csignal>
#include <fmt/format.h>

#include "log_policies.hpp"
#include "progress_files.hpp"
#include "quick_failure.hpp"
#include "srun_errors.hpp"

namespace det::launch::supervisor {
namespace {

bool contains(std::vector<std::string> const& hosts, std::string const& host) {
    return std::find(hosts.begin(), hosts.end(), host) != hosts.end();
}

/// How long after the start of a step a node may have begun without a trace. Nodes of the second level of the
/// tree connect up to 1 ms per node later (transport::NodeBeats); a node that can't connect makes its file
/// 5 s + 2 ms per node after its start at most (Heartbeat of wrap_rank). Slurm needs some time to start it.
std::chrono::milliseconds first_trace_limit(std::size_t nodes) {
    constexpr std::chrono::milliseconds until_file{5000}, start_of_step{10'000}, of_node{1 + 2};
    return until_file + start_of_step + of_node * static_cast<std::int64_t>(nodes);
}

/// The last line of the output that is not det-submit's own.
std::string_view last_line_of(std::string_view output) {
    auto const lines = split_lines(output);
    auto const found = std::find_if(lines.rbegin(), lines.rend(), [](auto const line) {
        return !trim(line).empty() && !line.starts_with("det-submit: ");
    });
    return found == lines.rend() ? std::string_view() : trim(*found);
}

/// The failures of lines of slurm.setup on the run's nodes, that of the first node first.
std::vector<RankFailure> find_setup_failures(RunLayout const& run) {
    auto failures = journal::load_rank_failures(run).value_or(std::vector<RankFailure>());
    std::erase_if(failures, [](auto const& failure) { return failure.setup_failure.empty(); });
    std::ranges::stable_sort(failures, {}, [](auto const& failure) { return failure.time.microseconds; });
    return failures;
}

/// A line of slurm.setup that failed, with its node and the end of its output.
std::string describe_setup_failure(RankFailure const& failure) {
    auto const output = last_line_of(failure.last_output);
    return fmt::format("on {}, {}{}", failure.host, failure.setup_failure,
                       output.empty() ? "" : fmt::format(" ({})", output));
}

class FactCollector {
public:
    FactCollector(BatchJob const& batch_job, SupervisorContext const& context, EndedRun const& run)
        : batch_job_(batch_job), context_(context), run_(run) {}

    Result<lifecycle::RunFacts> gather() {
        DET_TRY_ASSIGN(auto const store,
                       checkpoint::storage::open_store(batch_job_.spec, context_.environment));
        auto const& resume = run_.plan.resume;
        auto& facts = facts_;
        facts.incarnation = batch_job_.incarnation;
        facts.step_exit_code = run_.exit_code;
        facts.stop_reason = run_.machine.stop_reason();
        facts.was_killed = run_.machine.was_killed();
        facts.silent_host = run_.machine.silent_host();
        if (run_.machine.was_hung()) add_hang();
        facts.shares_node = batch_job_.spec.lanes > 1;
        facts.notice_received = run_.machine.notice_received();
        facts.preemption_acknowledged = run_.record.was_preemption_acknowledged();
        if (run_.exit_code != 0) DET_TRY(find_hosts_lost_by_srun());
        facts.higher_run_exists = run_.record.has_newer_run().value_or(false);
        facts.desired = batch_job_.desired(run_.plan.id.trial.index);
        facts.restarts = resume.restarts;
        // Slurm itself does not restart a script that has failed.
        bool const stays_ended = batch_job_.is_script() && batch_job_.spec.has_default_max_restarts;
        facts.restarts_max = stays_ended ? 0 : batch_job_.spec.max_restarts;
        facts.failures_without_progress = resume.failures_without_progress;
        facts.bad_ends_without_progress = resume.bad_ends_without_progress;
        facts.slurm_failures_in_a_row = resume.slurm_failures_in_a_row;
        facts.has_begun_before = resume.has_begun_before;
        facts.is_progress_visible = resume.is_progress_visible;
        facts.has_progressed =
            run_.record.has_progressed(resume.steps_completed, *store) || has_newer_files();
        add_program_end();
        facts.damaged_checkpoint = find_damaged_checkpoint();
        if (run_.exit_code != 0 && facts.stop_reason == lifecycle::StopReason::none) DET_TRY(find_causes());
        return std::move(facts);
    }

private:
    /// Finds the nodes that srun has lost, which it says at its end.
    Status find_hosts_lost_by_srun() {
        DET_TRY_ASSIGN(auto const hosts, expand_host_list(run_.plan.hosts));
        for (auto const& error : find_last_srun_errors()) {
            for (auto const& host : find_lost_hosts(error, hosts, batch_job_.is_script()))
                if (!contains(facts_.lost_hosts, host)) facts_.lost_hosts.push_back(host);
        }
        return Ok{};
    }

    /// srun's errors about the run at the end of the output.
    std::vector<std::string> find_last_srun_errors() const {
        auto const end = output_size_bytes(context_.output);
        auto const tail = end - std::min(end, output_part_bytes);
        return find_srun_errors(context_.output, std::max(tail, run_.output_begin_bytes), end);
    }

    bool has_newer_files() const {
        auto const trial = batch_job_.experiment.trial(run_.plan.id.trial.index);
        return is_newer(newest_change(batch_job_.spec.progress_globs, trial), run_.plan.resume.progress);
    }

    /// What the ranks have found damaged in the checkpoint from which the run continues. Empty if an earlier
    /// run has reported the same and the supervisor found the checkpoint whole: the trial must not go on like
    /// this for ever.
    std::string find_damaged_checkpoint() const {
        auto const& resume = run_.plan.resume;
        if (resume.checkpoint.empty() || resume.was_reported_damaged) return "";
        auto const text = read_file(run_.record.layout().damaged_checkpoint(resume.checkpoint));
        return text ? std::string(trim(*text)) : "";
    }

    /// Adds and logs which ranks waited for which one when the run hung.
    void add_hang() {
        facts_.hung_for = std::chrono::seconds(*batch_job_.spec.hang_timeout_s);
        telemetry::WaitPeriod const period;
        auto const waits = telemetry::load_waits(run_.record.layout(), run_.plan.shape.task_nodes, period);
        if (!waits) {
            context_.log(fmt::format("who waits for whom is not known: {}", waits.error().message));
            return;
        }
        for (auto const& line : telemetry::describe_waits(*waits))
            context_.log(fmt::format("run {}: {}", to_string(run_.plan.id), line));
        auto const straggler = telemetry::find_straggler(*waits, period.length);
        auto const hosts = expand_host_list(run_.plan.hosts);
        if (straggler && hosts) facts_.hung_waits = telemetry::describe_straggler(*straggler, *hosts);
    }

    /// Adds what the exit code and the files of the program say about its end.
    void add_program_end() {
        auto const& spec = batch_job_.spec;
        auto const& layout = run_.record.layout();
        facts_.says_done = path_exists(layout.done());
        facts_.task_notice_received = path_exists(layout.preempt_notice());
        facts_.uses_core_api = path_exists(layout.chief_journal());
        // A program with the Core API acknowledges a notice that it follows.
        bool const may_be_signalled_by_slurm =
            run_.exit_code == 0 && facts_.task_notice_received && !facts_.uses_core_api;
        facts_.gets_notices = batch_job_.is_script() || !spec.forward_signals.empty() ||
                              (may_be_signalled_by_slurm && signals_reach_all(context_.slurm));
        facts_.asks_for_requeue = path_exists(layout.requeue_request());
        // Slurm kills the other ranks after the first failure, and shows the highest exit code.
        auto const first =
            first_to_fail(journal::load_rank_failures(layout).value_or(std::vector<RankFailure>()));
        int const code = first && !batch_job_.is_script() ? first->exit_code : run_.exit_code;
        auto const& codes = spec.preempted_exit_codes;
        facts_.has_preempted_exit_code = std::find(codes.begin(), codes.end(), code) != codes.end();
        facts_.ended_by_notice_signal = is_of_notice_signal(code);
    }

    bool is_of_notice_signal(int exit_code) const {
        auto const& names = batch_job_.spec.forward_signals;
        return exit_code == 128 + SIGTERM || std::any_of(names.begin(), names.end(), [&](auto const& name) {
                   auto const number = forward_signal_number(name);
                   return number && exit_code == 128 + *number;
               });
    }

    /// Finds what made a run fail that was not asked to stop.
    Status find_causes() {
        if (!run_.health.unhealthy.empty()) return add_unhealthy_nodes();
        DET_TRY(add_log_policies());
        DET_TRY(add_failed_nodes());
        if (run_.machine.is_node_lost())
            DET_TRY(add_lost_nodes(run_.lost_hosts, "the network does not reach"));
        // srun has killed the other ranks.
        if (!batch_job_.is_script()) DET_TRY(add_lost_nodes(facts_.lost_hosts, "srun has lost"));
        DET_TRY_ASSIGN(auto unreached, find_unreached_nodes());
        DET_TRY(add_lost_nodes(std::move(unreached), "Slurm could start nothing on"));
        facts_.srun_refusal = find_srun_refusal();
        facts_.has_default_max_restarts = batch_job_.spec.has_default_max_restarts;
        facts_.repeats_failure = repeats_failure();
        return add_setup_failure();
    }

    /// Whether this run failed in the same way as the run before it.
    bool repeats_failure() const {
        auto const& id = run_.plan.id;
        if (id.number <= batch_job_.spec.first_run_of(id.trial.index)) return false;
        auto const now = context_.clock.now();
        auto const failure = find_quick_failure(run_.record.layout(), now);
        return failure && failure == find_quick_failure(
                                         batch_job_.experiment.trial(id.trial.index).run(id.number - 1), now);
    }

    /// Adds the first failure of slurm.setup. A line that fails on a node does so again: the next run does
    /// not use the nodes on which lines failed.
    Status add_setup_failure() {
        auto const failures = find_setup_failures(run_.record.layout());
        if (failures.empty()) return Ok{};
        facts_.setup_failure = describe_setup_failure(failures.front());
        if (!facts_.bad_nodes.hosts.empty()) return Ok{};
        lifecycle::BadNodes bad;
        for (auto const& failure : failures) {
            if (!contains(bad.hosts, failure.host)) bad.hosts.push_back(failure.host);
        }
        bad.why = "slurm.setup fails on";
        bad.is_bad_for_trial_only = true;  // the line may be wrong, and not the node
        return set_bad_nodes(std::move(bad));
    }

    Status add_unhealthy_nodes() {
        lifecycle::BadNodes bad;
        for (auto const& node : run_.health.unhealthy) {
            bad.hosts.push_back(node.host);
            facts_.health_failure +=
                fmt::format("{}node {}: {}", facts_.health_failure.empty() ? "" : "; ", node.host, node.why);
        }
        bad.why = "the health check excludes";
        bad.is_bad_for_trial_only = run_.health.fails_by_command_only;
        bad.is_failure_of_trial = false;
        bad.may_come_back = true;
        return set_bad_nodes(std::move(bad));
    }

    Status add_log_policies() {
        auto const& spec = batch_job_.spec;
        auto const found =
            match_log_policies(spec.log_policies, run_.record.layout(), run_.plan.shape.task_nodes);
        if (!found) {
            context_.log(fmt::format("the log policies are ignored: {}", found.error().message));
            return Ok{};
        }
        facts_.cancel_retries_policy = found->cancel_retries_policy;
        facts_.log_labels = found->labels;
        if (found->bad_nodes.empty()) return Ok{};
        DET_TRY_ASSIGN(auto const hosts, expand_host_list(run_.plan.hosts));
        lifecycle::BadNodes bad;
        for (auto const node : found->bad_nodes)
            bad.hosts.push_back(hosts.at(static_cast<std::size_t>(node)));
        bad.why = fmt::format("the log policy '{}' excludes", found->bad_nodes_policy);
        return set_bad_nodes(std::move(bad));
    }

    /// Adds the run's nodes that Slurm has lost. Without spare nodes this is not needed: Slurm requeues the
    /// job.
    Status add_failed_nodes() {
        if (batch_job_.spec.spare_nodes == 0) return Ok{};
        auto const nodes = context_.slurm.query_nodes();
        if (!nodes) return Ok{};
        DET_TRY_ASSIGN(auto const hosts, expand_host_list(run_.plan.hosts));
        lifecycle::BadNodes bad;
        for (auto const& node : *nodes) {
            if (contains(hosts, node.name) && has_slurm_lost(node) && !contains(bad.hosts, node.name))
                bad.hosts.push_back(node.name);
        }
        if (bad.hosts.empty()) return Ok{};
        bad.why = "Slurm has lost";
        bad.is_failure_of_trial = false;
        return set_bad_nodes(std::move(bad));
    }

    /// Adds nodes whose loss Slurm may notice minutes later, unless bad nodes are known already. Such a loss
    /// is no failure of the trial.
    Status add_lost_nodes(std::vector<std::string> hosts, std::string why) {
        if (hosts.empty() || !facts_.bad_nodes.hosts.empty()) return Ok{};
        lifecycle::BadNodes bad;
        bad.hosts = std::move(hosts);
        bad.why = std::move(why);
        bad.is_failure_of_trial = false;
        bad.may_come_back = true;
        return set_bad_nodes(std::move(bad));
    }

    /// The nodes on which srun could not start a task. The network to a node or its slurmd may be down for a
    /// moment.
    Result<std::vector<std::string>> find_unreached_nodes() const {
        // An exit code above 128 + 64, an error number of Slurm, means that srun could not start all tasks.
        constexpr int signals_end = 128 + 64;
        std::vector<std::string> unreached;
        if (run_.exit_code <= signals_end || batch_job_.is_script()) return unreached;
        DET_TRY_ASSIGN(auto const hosts, expand_host_list(run_.plan.hosts));
        auto const errors = find_last_srun_errors();
        // A run that is not watched over the network makes its files when it begins.
        RunRecord::ReachedNodes const known{
            [&](int node) { return run_.nodes && run_.nodes->has_connected(node); },
            [&](int node) {
                auto const& host = hosts.at(static_cast<std::size_t>(node));
                return std::ranges::find(errors, host, find_refused_host) != errors.end();
            },
            !run_.nodes || run_.step_duration >= first_trace_limit(hosts.size())};
        for (auto const node : run_.record.nodes_not_reached(static_cast<int>(hosts.size()), known))
            unreached.push_back(hosts.at(static_cast<std::size_t>(node)));
        return unreached;
    }

    /// Sets facts_.bad_nodes, and whether the job and the partition have enough other nodes.
    Status set_bad_nodes(lifecycle::BadNodes bad) {
        auto all_bad = run_.plan.resume.bad_hosts;
        all_bad.insert(all_bad.end(), bad.hosts.begin(), bad.hosts.end());
        DET_TRY_ASSIGN(auto const excluded, expand_host_list(batch_job_.spec.excluded_nodes));
        all_bad.insert(all_bad.end(), excluded.begin(), excluded.end());
        auto const& spec = batch_job_.spec;
        auto const needed = spec.is_elastic() ? spec.nodes_min : spec.shape.nodes;
        DET_TRY_ASSIGN(auto const here, expand_host_list(batch_job_.hosts));
        auto const good_here = std::count_if(here.begin(), here.end(),
                                             [&](auto const& host) { return !contains(all_bad, host); });
        bad.is_enough_here = (spec.spare_nodes > 0 || spec.is_elastic()) && good_here >= needed;
        auto const nodes = context_.slurm.query_nodes();
        if (nodes) {
            auto const good = std::count_if(nodes->begin(), nodes->end(), [&](auto const& node) {
                return node.partition == batch_job_.partition && !node.is_unavailable() &&
                       !contains(all_bad, node.name);
            });
            bad.is_enough_elsewhere = good >= needed + static_cast<int>(spec.spare_nodes);
        }
        facts_.bad_nodes = std::move(bad);
        return Ok{};
    }

    /// srun's error message if srun ended with exit code 1 before any task started; otherwise empty.
    std::string find_srun_refusal() const {
        constexpr int refused = 1;
        bool const has_connected = run_.nodes && run_.nodes->count_connected() > 0;
        if (run_.exit_code != refused || has_connected || has_begun(run_.record.layout())) return "";
        auto const errors =
            find_srun_errors(context_.output, run_.output_begin_bytes, output_size_bytes(context_.output));
        return errors.empty() ? "" : errors.front();
    }

    BatchJob const& batch_job_;
    SupervisorContext const& context_;
    EndedRun const& run_;
    lifecycle::RunFacts facts_;
};

}  // namespace

Result<lifecycle::RunFacts> gather_facts(BatchJob const& batch_job, SupervisorContext const& context,
                                         EndedRun const& run) {
    return FactCollector(batch_job, context, run).gather();
}

bool has_slurm_lost(slurm::Node const& node) {
    return node.state.starts_with("down") || node.state.find("fail") != std::string::npos ||
           node.is_unresponsive();
}

bool signals_reach_all(slurm::SlurmClient& slurm) {
    auto const config = slurm.query_cluster_config();
    if (!config) return false;
    return config->find("ProctrackType").value_or("").ends_with("linuxproc") ||
           config->find("SignalChildrenProcesses").value_or("") == "yes";
}

std::uint64_t output_size_bytes(std::filesystem::path const& output) {
    std::error_code error;
    if (!std::filesystem::is_regular_file(output, error)) return 0;
    auto const size = std::filesystem::file_size(output, error);
    return error ? 0 : size;
}

}  // namespace det::launch::supervisor
