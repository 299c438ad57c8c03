#include "live_fault.hpp"

#include <det/protocol/host_list.hpp>

#include <algorithm>
#include <csignal>
#include <fmt/format.h>
#include <thread>

namespace det::faults {
namespace {

using namespace std::chrono_literals;
using Processes = std::vector<TrainingProcess>;

constexpr auto process_wait = 20s;  // until the processes of a run that has started exist

std::size_t pick(std::mt19937& random, std::size_t below) {
    return std::uniform_int_distribution<std::size_t>(0, below - 1)(random);
}

/// Waits for processes that `find` returns.
template <class Find>
Processes wait_for_processes(Find const& find) {
    auto const deadline = std::chrono::steady_clock::now() + process_wait;
    auto found = find();
    while (found.empty() && std::chrono::steady_clock::now() < deadline) {
        std::this_thread::sleep_for(20ms);
        found = find();
    }
    return found;
}

bool kill_processes(Processes const& processes) {
    bool killed = false;
    for (auto const& process : processes) killed |= ::kill(process.pid, SIGKILL) == 0;
    return killed;
}

bool kill_one(Processes const& processes, std::mt19937& random) {
    auto const chosen = pick(random, 1'000'000);
    return !processes.empty() && ::kill(processes[chosen % processes.size()].pid, SIGKILL) == 0;
}

std::string_view rank_program(LiveTraining const& training) {
    // The kernel keeps 15 characters of a program's name.
    return training.kind().name == "cpp" ? "faults_cluster_" : "python3";
}

/// Waits for processes of the program on the hosts of the run.
Processes processes_of(LiveTraining const& training, FaultTarget const& target, std::string_view program) {
    return wait_for_processes([&] {
        auto found = training.processes(program);
        std::erase_if(found, [&](auto const& each) {
            return std::ranges::find(target.hosts, each.host) == target.hosts.end();
        });
        return found;
    });
}
Processes ranks_of(LiveTraining const& training, FaultTarget const& target) {
    return processes_of(training, target, rank_program(training));
}
Processes wrappers_of(LiveTraining const& training, FaultTarget const& target) {
    return processes_of(training, target, "det-wrap-rank");
}

Result<bool> kill_rank(LiveTraining const& training, FaultTarget const& target, std::mt19937& random) {
    return kill_one(ranks_of(training, target), random);
}
Result<bool> kill_ranks(LiveTraining const& training, FaultTarget const& target, std::mt19937&) {
    return kill_processes(ranks_of(training, target));
}
Result<bool> kill_wrapper(LiveTraining const& training, FaultTarget const& target, std::mt19937& random) {
    return kill_one(wrappers_of(training, target), random);
}
Result<bool> kill_srun(LiveTraining const& training, FaultTarget const& target, std::mt19937& random) {
    auto found = processes_of(training, target, "srun");
    auto const all = found;
    // An srun has a child of the same name, whose end has no effect.
    std::erase_if(found, [&](auto const& each) {
        return std::ranges::find(all, each.parent, &TrainingProcess::pid) != all.end();
    });
    return kill_one(found, random);
}
Result<bool> kill_supervisor(LiveTraining const& training, FaultTarget const& target, std::mt19937&) {
    auto supervisors = training.processes("det-launch");
    auto const parents = training.processes("det-batch");
    std::erase_if(supervisors, [&](auto const& each) {
        return each.host != target.batch_host ||
               std::ranges::find(parents, each.parent, &TrainingProcess::pid) == parents.end();
    });
    return kill_processes(supervisors);
}
Result<bool> kill_batch_process(LiveTraining const& training, FaultTarget const& target, std::mt19937&) {
    auto found = training.processes("det-batch");
    std::erase_if(found, [&](auto const& each) { return each.host != target.batch_host; });
    return kill_processes(found);
}
Result<bool> kill_slurmstepd(LiveTraining const& training, FaultTarget const& target, std::mt19937& random) {
    return kill_one(LiveTraining::parents_of(wrappers_of(training, target)), random);
}
Result<bool> kill_batch_slurmstepd(LiveTraining const& training, FaultTarget const& target, std::mt19937&) {
    auto found = training.processes("det-batch");
    std::erase_if(found, [&](auto const& each) { return each.host != target.batch_host; });
    return kill_processes(LiveTraining::parents_of(found));
}

/// Kills all processes of the training on one node of the run, and their slurmstepds.
Result<bool> kill_node_processes(LiveTraining const& training, FaultTarget const& target,
                                 std::mt19937& random) {
    auto const host = target.hosts.empty() ? "" : target.hosts[pick(random, target.hosts.size())];
    auto found = training.processes();
    std::erase_if(found, [&](auto const& each) { return each.host != host; });
    auto parents = LiveTraining::parents_of(found);
    found.insert(found.end(), parents.begin(), parents.end());
    return kill_processes(found);
}

/// Runs one det-loopback command, waits, and runs the other one.
Result<bool> break_and_restore(LiveTraining const& training, std::vector<std::string> break_command,
                               std::vector<std::string> restore_command, std::chrono::milliseconds duration) {
    DET_TRY(training.site().control(std::move(break_command)));
    std::this_thread::sleep_for(duration);
    DET_TRY(training.site().control(std::move(restore_command)));
    return true;
}

std::string last_host(FaultTarget const& target) { return target.hosts.empty() ? "" : target.hosts.back(); }

Result<bool> cut_node(LiveTraining const& training, std::string const& host, std::chrono::seconds duration) {
    if (host.empty()) return false;
    return break_and_restore(training, {"node", "cut", host}, {"node", "heal", host}, duration);
}
Result<bool> cut_briefly(LiveTraining const& training, FaultTarget const& target, std::mt19937&) {
    return cut_node(training, last_host(target), 2s);
}
/// Longer than slurm.node_timeout (10 s), and longer than SlurmdTimeout (20 s) of the site.
Result<bool> cut_long(LiveTraining const& training, FaultTarget const& target, std::mt19937&) {
    return cut_node(training, last_host(target), 35s);
}
Result<bool> cut_batch_host(LiveTraining const& training, FaultTarget const& target, std::mt19937&) {
    return cut_node(training, target.batch_host, 45s);
}
Result<bool> switch_node_off(LiveTraining const& training, FaultTarget const& target, std::mt19937&) {
    auto const host = last_host(target);
    if (host.empty()) return false;
    return break_and_restore(training, {"node", "off", host}, {"node", "on", host}, 25s);
}
Result<bool> kill_slurmd(LiveTraining const& training, FaultTarget const& target, std::mt19937& random) {
    auto const host = last_host(target);
    if (host.empty()) return false;
    auto const duration = std::chrono::milliseconds(pick(random, 4000));
    return break_and_restore(training, {"daemon", "kill", "slurmd." + host},
                             {"daemon", "start", "slurmd." + host}, duration);
}
Result<bool> restart_slurmctld(LiveTraining const& training, FaultTarget const&, std::mt19937& random) {
    auto const duration = std::chrono::milliseconds(pick(random, 8000));
    return break_and_restore(training, {"daemon", "kill", "slurmctld"}, {"daemon", "start", "slurmctld"},
                             duration);
}
Result<bool> kill_rank_without_slurmctld(LiveTraining const& training, FaultTarget const& target,
                                         std::mt19937& random) {
    auto const ranks = ranks_of(training, target);
    DET_TRY(training.site().control({"daemon", "kill", "slurmctld"}));
    auto const killed = kill_one(ranks, random);
    std::this_thread::sleep_for(std::chrono::milliseconds(pick(random, 4000)));
    DET_TRY(training.site().control({"daemon", "start", "slurmctld"}));
    return killed;
}
Result<bool> kill_tracker(LiveTraining const& training, FaultTarget const&, std::mt19937&) {
    DET_TRY(
        training.shell("det-tracker start >tracker-output 2>&1 && det-submit experiment describe 1 "
                       ">tracker-output 2>&1"));
    auto found = training.processes("det-tracker");
    if (found.empty()) found = training.processes("det-submit");
    return kill_processes(found);
}

Result<bool> run_script(LiveTraining const& training, std::string const& script) {
    DET_TRY(training.shell(script));
    return true;
}
std::string urgent_job(FaultTarget const& target) {
    return fmt::format("timeout 140 srun --quiet --partition=urgent --nodes={} --nodelist={} true",
                       target.hosts.size(), compress_host_list(target.hosts));
}
Result<bool> preempt(LiveTraining const& training, FaultTarget const& target, std::mt19937&) {
    return run_script(training, urgent_job(target));
}
Result<bool> pause_and_activate(LiveTraining const& training, FaultTarget const&, std::mt19937& random) {
    return run_script(training, fmt::format("det-submit experiment pause 1 && sleep {} && det-submit "
                                            "experiment activate 1",
                                            static_cast<double>(pick(random, 3000)) / 1000));
}
Result<bool> preempt_and_pause(LiveTraining const& training, FaultTarget const& target,
                               std::mt19937& random) {
    return run_script(training,
                      fmt::format("{{ {} || true; }} & sleep {}; det-submit experiment pause 1 || exit; "
                                  "wait $!; det-submit experiment activate 1",
                                  urgent_job(target), static_cast<double>(pick(random, 1500)) / 1000));
}
Result<bool> preempt_and_cancel(LiveTraining const& training, FaultTarget const& target,
                                std::mt19937& random) {
    return run_script(training,
                      fmt::format("{{ {} || true; }} & sleep {}; det-submit experiment cancel 1 || exit; "
                                  "wait $!",
                                  urgent_job(target), static_cast<double>(pick(random, 1500)) / 1000));
}
Result<bool> requeue(LiveTraining const& training, FaultTarget const& target, std::mt19937&) {
    return run_script(training, fmt::format("scontrol requeue {}", target.job));
}
Result<bool> requeue_and_cancel(LiveTraining const& training, FaultTarget const& target,
                                std::mt19937& random) {
    return run_script(training, fmt::format("scontrol requeue {}; sleep {}; det-submit experiment cancel 1",
                                            target.job, static_cast<double>(pick(random, 1500)) / 1000));
}
Result<bool> cancel(LiveTraining const& training, FaultTarget const&, std::mt19937&) {
    return run_script(training, "det-submit experiment cancel 1");
}
Result<bool> kill_experiment(LiveTraining const& training, FaultTarget const&, std::mt19937&) {
    return run_script(training, "det-submit experiment kill 1");
}
Result<bool> cancel_job(LiveTraining const& training, FaultTarget const&, std::mt19937&) {
    // All jobs of a search.
    DET_TRY_ASSIGN(auto const now, training.snapshot());
    std::string jobs;
    for (auto const& array : now.record.arrays()) jobs += fmt::format(" {}", array.job);
    return run_script(training, "scancel" + jobs);
}

Result<bool> fill_disk(LiveTraining const& training, FaultTarget const&, std::mt19937& random) {
    auto const duration = std::chrono::milliseconds(3000 + pick(random, 4000));
    DET_TRY(training.fill_disk());
    std::this_thread::sleep_for(duration);
    DET_TRY(training.free_disk());
    return true;
}
Result<bool> stall_writes(LiveTraining const& training, FaultTarget const&, std::mt19937& random) {
    auto const duration = std::chrono::milliseconds(3000 + pick(random, 6000));
    DET_TRY(training.freeze(true));
    std::this_thread::sleep_for(duration);
    DET_TRY(training.freeze(false));
    return true;
}
Result<bool> fail_writes(LiveTraining const& training, FaultTarget const&, std::mt19937& random) {
    auto const duration = std::chrono::milliseconds(2000 + pick(random, 4000));
    DET_TRY(training.write_failure(pick(random, 2) == 0 ? "EIO" : "EDQUOT"));
    std::this_thread::sleep_for(duration);
    DET_TRY(training.write_failure(""));
    return true;
}
Result<bool> shift_clock(LiveTraining const& training, FaultTarget const&, std::mt19937& random) {
    DET_TRY(training.shift_clock(pick(random, 2) == 0 ? 1h : -1h));
    return true;
}

Result<bool> lose_replies(LiveTraining const& training, std::mt19937& random, std::string const& then) {
    constexpr unsigned percent = 30;
    auto const duration = std::chrono::milliseconds(3000 + pick(random, 5000));
    DET_TRY(training.nfs().lose_replies(then, percent, static_cast<std::uint32_t>(random())));
    std::this_thread::sleep_for(duration);
    DET_TRY_ASSIGN(auto const lost, training.nfs().lose_replies("nothing", 0, 0));
    training.note(fmt::format("{} replies were lost", lost));
    return lost > 0;
}
Result<bool> repeat_operations(LiveTraining const& training, FaultTarget const&, std::mt19937& random) {
    return lose_replies(training, random, "repeat");
}
Result<bool> fail_operations(LiveTraining const& training, FaultTarget const&, std::mt19937& random) {
    return lose_replies(training, random, "error");
}
Result<bool> cut_power(LiveTraining const& training, std::string const& host) {
    if (host.empty()) return false;
    DET_TRY_ASSIGN(auto const dropped, training.nfs().switch_off(host));
    training.note(fmt::format("{} bytes were dropped", dropped));
    std::this_thread::sleep_for(25s);  // longer than SlurmdTimeout (20 s) of the site
    DET_TRY(training.nfs().switch_on(host));
    return true;
}
Result<bool> cut_power_of_node(LiveTraining const& training, FaultTarget const& target, std::mt19937&) {
    return cut_power(training, last_host(target));
}
Result<bool> cut_power_of_batch_host(LiveTraining const& training, FaultTarget const& target, std::mt19937&) {
    return cut_power(training, target.batch_host);
}

// A run that nothing has happened to is `finished`, or `stopped-by-search`.
constexpr std::string_view undisturbed = "finished stopped-by-search";
// The training program of a batch script is a child of the supervisor, and its steps are plain ones.
constexpr std::string_view with_ranks = "cpp ddp pytorch-trial asha";
// Has two nodes whose wrappers are steps of the supervisor.
constexpr std::string_view with_two_nodes = "cpp ddp pytorch-trial";

// A run is longer than slurm_saves_after.
constexpr std::string_view long_runs = "cpp ddp pytorch-trial batch-script";
constexpr auto slurm_saves_after = 7s;  // slurmctld saves its state within 5 s

constexpr LiveFault fault_table[] = {
    {"kill a rank", "failed", Ending::completed, kill_rank},
    {"kill all ranks", "failed", Ending::completed, kill_ranks},
    {"kill a wrapper", "failed", Ending::completed, kill_wrapper, Seam::none, with_ranks},
    {"kill srun", "failed", Ending::completed, kill_srun},
    {"kill the supervisor", "interrupted", Ending::completed, kill_supervisor},
    {"kill det-batch", "none", Ending::completed, kill_batch_process},
    {"kill a slurmstepd", "failed node-failed", Ending::completed, kill_slurmstepd, Seam::none, with_ranks},
    {"kill the supervisor's slurmstepd", undisturbed, Ending::completed, kill_batch_slurmstepd},
    {"kill all processes of a node", "failed node-failed none", Ending::completed, kill_node_processes},
    {"kill a slurmd", undisturbed, Ending::completed, kill_slurmd},
    {"cut a node for 2 s", undisturbed, Ending::completed, cut_briefly, Seam::none, with_two_nodes},
    {"cut a node for 35 s", "node-failed", Ending::completed, cut_long, Seam::none, with_two_nodes},
    // Slurm requeues the job as a new run, and the old supervisor changes nothing.
    {"cut the supervisor's node", "none", Ending::completed, cut_batch_host, Seam::none, with_two_nodes},
    {"switch a node off", "node-failed", Ending::completed, switch_node_off, Seam::none, with_two_nodes},
    {"restart slurmctld", undisturbed, Ending::completed, restart_slurmctld, Seam::none, long_runs,
     Scope::site, slurm_saves_after},
    {"kill a rank without slurmctld", "failed", Ending::completed, kill_rank_without_slurmctld, Seam::none,
     long_runs, Scope::site, slurm_saves_after},
    // A slurmctld that is killed within seconds after a start forgets the start, and starts the job again.
    // The supervisor stops its ranks then and records nothing, or is killed.
    {"kill slurmctld after a start", "none finished", Ending::completed, restart_slurmctld, Seam::none,
     long_runs, Scope::site},
    {"kill the tracker", undisturbed, Ending::completed, kill_tracker},
    {"preempt", "preempted", Ending::completed, preempt},
    // A run that has not ended when the experiment is activated again counts as preempted, and starts again.
    {"pause and activate", "paused preempted", Ending::completed, pause_and_activate},
    {"preempt and pause", "preempted paused", Ending::completed, preempt_and_pause},
    {"preempt and cancel", "preempted canceled", Ending::canceled, preempt_and_cancel},
    {"requeue", "preempted", Ending::completed, requeue},
    {"requeue and cancel", "preempted canceled", Ending::canceled, requeue_and_cancel},
    {"cancel", "canceled", Ending::canceled, cancel},
    {"kill the experiment", "canceled", Ending::canceled, kill_experiment},
    {"scancel", "canceled", Ending::canceled, cancel_job},
    {"full disk", undisturbed, Ending::completed, fill_disk, Seam::own_file_system},
    {"writes do not return", undisturbed, Ending::completed, stall_writes, Seam::own_file_system},
    {"writes fail", undisturbed, Ending::completed, fail_writes, Seam::failing_writes},
    {"the clock jumps an hour", undisturbed, Ending::completed, shift_clock, Seam::clock},
};

constexpr LiveFault nfs_fault_table[] = {
    {"NFS: kill a rank", "failed", Ending::completed, kill_rank, Seam::nfs},
    {"NFS: kill the supervisor", "interrupted", Ending::completed, kill_supervisor, Seam::nfs},
    {"NFS: preempt", "preempted", Ending::completed, preempt, Seam::nfs},
    {"NFS: requeue", "preempted", Ending::completed, requeue, Seam::nfs},
    {"NFS: pause and activate", "paused preempted", Ending::completed, pause_and_activate, Seam::nfs},
    {"NFS: operations are repeated", undisturbed, Ending::completed, repeat_operations, Seam::nfs,
     with_ranks},
    // os.replace() of the script fails.
    {"NFS: operations are repeated", "finished failed", Ending::completed, repeat_operations, Seam::nfs,
     "batch-script"},
    {"NFS: operations fail that are carried out", undisturbed, Ending::completed, fail_operations, Seam::nfs,
     with_ranks},
    // The script writes its files itself, and that may fail.
    {"NFS: operations fail that are carried out", "finished failed", Ending::completed, fail_operations,
     Seam::nfs, "batch-script"},
    {"NFS: power cut of a node", "node-failed", Ending::completed, cut_power_of_node, Seam::nfs,
     with_two_nodes},
    {"NFS: power cut of the supervisor's node", "none", Ending::completed, cut_power_of_batch_host,
     Seam::nfs},
};

}  // namespace

std::span<LiveFault const> live_faults() { return fault_table; }
std::span<LiveFault const> nfs_faults() { return nfs_fault_table; }

}  // namespace det::faults
