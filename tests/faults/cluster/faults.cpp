#include "faults.hpp"

#include <det/protocol/host_list.hpp>

#include <algorithm>
#include <csignal>
#include <fmt/format.h>
#include <thread>

namespace det::faults {
namespace {

using namespace std::chrono_literals;

std::size_t pick(std::mt19937& random, std::size_t below) {
    return std::uniform_int_distribution<std::size_t>(0, below - 1)(random);
}

Status kill_all(std::vector<Process> const& processes) {
    for (auto const& process : processes) ::kill(process.pid, SIGKILL);
    return Ok{};
}

/// Kills a random process of the list. An empty list is no error: the processes have ended meanwhile.
Status kill_one(std::vector<Process> const& processes, std::mt19937& random) {
    auto const chosen = pick(random, 1'000'000);
    if (!processes.empty()) ::kill(processes[chosen % processes.size()].pid, SIGKILL);
    return Ok{};
}

constexpr char rank_program[] = "faults_cluster_worker", wrapper_program[] = "det-wrap-rank";

Status kill_rank(Training const& training, std::mt19937& random) {
    return kill_one(training.processes(rank_program), random);
}
Status kill_ranks(Training const& training, std::mt19937&) {
    return kill_all(training.processes(rank_program));
}
Status kill_wrapper(Training const& training, std::mt19937& random) {
    return kill_one(training.processes(wrapper_program), random);
}
Status kill_srun(Training const& training, std::mt19937& random) {
    return kill_one(training.processes("srun"), random);
}
Status kill_supervisor(Training const& training, std::mt19937&) { return kill_all(training.supervisors()); }

/// Kills a slurmstepd that is the parent of one of `children`. The command line of a slurmstepd does not show
/// to which training it belongs.
Status kill_parent(std::vector<Process> const& children, std::mt19937& random) {
    auto const is_child = [](Process const& parent) {
        return [&parent](Process const& child) { return child.parent == parent.pid; };
    };
    auto parents = find_processes("slurmstepd: ");
    std::erase_if(parents,
                  [&](auto const& parent) { return std::ranges::none_of(children, is_child(parent)); });
    return kill_one(parents, random);
}
Status kill_slurmstepd(Training const& training, std::mt19937& random) {
    return kill_parent(training.processes(wrapper_program), random);
}
Status kill_batch_slurmstepd(Training const& training, std::mt19937& random) {
    return kill_parent(training.supervisors(), random);
}

std::string any_host(Training const& training, std::mt19937& random) {
    auto const chosen = pick(random, 1'000'000);
    auto const hosts = training.hosts();
    return hosts.empty() ? "" : hosts[chosen % hosts.size()];
}

/// Runs one det-loopback command, waits for `duration` and runs the other one.
Status break_and_restore(Training const& training, std::vector<std::string> break_command,
                         std::vector<std::string> restore_command, std::chrono::milliseconds duration) {
    DET_TRY(training.site().control(std::move(break_command)));
    std::this_thread::sleep_for(duration);
    return training.site().control(std::move(restore_command));
}

Status kill_slurmd(Training const& training, std::mt19937& random) {
    auto const host = any_host(training, random);
    auto const duration = std::chrono::milliseconds(pick(random, 4000));
    if (host.empty()) return Ok{};
    return break_and_restore(training, {"daemon", "kill", "slurmd." + host},
                             {"daemon", "start", "slurmd." + host}, duration);
}

/// A cut of 2 s remains unnoticed, the ranks notice one of 14 s, and Slurm notices one of 35 s.
Status cut_node(Training const& training, std::mt19937& random) {
    constexpr std::chrono::seconds durations[] = {2s, 14s, 35s};
    auto const host = any_host(training, random);
    auto const duration = durations[pick(random, std::size(durations))];
    if (host.empty()) return Ok{};
    return break_and_restore(training, {"node", "cut", host}, {"node", "heal", host}, duration);
}

std::string urgent_job(Training const& training) {
    auto const hosts = training.hosts();
    return fmt::format("srun --partition=urgent --nodes={} --nodelist={} true", hosts.size(),
                       compress_host_list(hosts));
}

/// Runs a script within 150 s, because Slurm may wait a minute for a training that has not started yet.
Status run_in_shell(Training const& training, std::string const& script) {
    DET_TRY(training.site().shell(script, 150s));
    return Ok{};
}

Status preempt(Training const& training, std::mt19937&) {
    return run_in_shell(training, urgent_job(training));
}

Status preempt_and_signal(Training const& training, std::mt19937&) {
    return run_in_shell(training, fmt::format("{} & scancel --signal=TERM {}; wait $!", urgent_job(training),
                                              training.job()));
}

Status signal(Training const& training, std::mt19937&) {
    return run_in_shell(training, fmt::format("scancel --signal=TERM {}", training.job()));
}

Status pause(Training const& training, std::mt19937&) {
    auto const id = training.id().value;
    return run_in_shell(training, fmt::format("det experiment pause {0} && det experiment activate {0}", id));
}

Status cancel(Training const& training, std::mt19937&) {
    return run_in_shell(training, fmt::format("scancel {}", training.job()));
}

Status jump(Training const& training, std::mt19937& random) {
    constexpr std::chrono::seconds jumps[] = {-1h, 1h, 24h * 400};
    return training.shift_clock(jumps[pick(random, std::size(jumps))]);
}

constexpr Fault table[] = {
    {"kill a rank", Aftermath::fails, kill_rank},
    {"kill all ranks", Aftermath::fails, kill_ranks},
    {"kill a wrapper", Aftermath::fails, kill_wrapper},
    {"kill srun", Aftermath::fails, kill_srun},
    {"kill the supervisor", Aftermath::fails, kill_supervisor},
    {"kill a slurmstepd", Aftermath::fails, kill_slurmstepd},
    {"kill the supervisor's slurmstepd", Aftermath::continues, kill_batch_slurmstepd},
    {"kill slurmd", Aftermath::continues, kill_slurmd},
    {"cut a node off", Aftermath::continues, cut_node},
    {"preempt", Aftermath::is_requeued, preempt},
    {"preempt", Aftermath::is_requeued, preempt},
    {"preempt", Aftermath::is_requeued, preempt},
    {"preempt with scancel --signal", Aftermath::is_requeued, preempt_and_signal},
    {"scancel --signal", Aftermath::continues, signal},
    {"pause", Aftermath::continues, pause},
    {"turn the clock", Aftermath::continues, jump},
    {"scancel", Aftermath::is_canceled, cancel},
};

}  // namespace

std::span<Fault const> all_faults() { return table; }

}  // namespace det::faults
