// Tests what site-configs/loopback/README.md promises. The other cluster tests depend on it.
#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <csignal>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <set>
#include <sys/wait.h>
#include <unistd.h>

#include "check_result.hpp"
#include "loopback_cluster.hpp"
#include "temporary_directory.hpp"
#include "test_paths.hpp"

using namespace det;
using namespace std::chrono_literals;

namespace loopback_site_test {

std::vector<std::string> sorted_lines(std::string const& text) {
    std::vector<std::string> lines;
    for (auto const line : split_lines(text)) lines.emplace_back(line);
    std::sort(lines.begin(), lines.end());
    return lines;
}

nlohmann::json read_status(LoopbackCluster const& cluster) {
    auto const output = run_cluster_command({"status", "--json", "--name=" + cluster.name()});
    return nlohmann::json::parse(output.out);
}

nlohmann::json find_daemon(LoopbackCluster const& cluster, std::string const& name) {
    auto const status = read_status(cluster);
    for (auto const& daemon : status["daemons"]) {
        if (daemon["name"] == name) return daemon;
    }
    BOOST_FAIL("no daemon " + name);
    return {};
}

bool is_not_running(LoopbackCluster const& cluster) {
    return run_cluster_command({"status", "--name", cluster.name()}).exit_code == 4;
}

/// Starts det-loopback and does not wait for it.
pid_t start_cluster_command(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), det::test::built_path("bin/det-loopback"));
    std::vector<char*> pointers;
    for (auto& argument : arguments) pointers.push_back(argument.data());
    pointers.push_back(nullptr);
    pid_t const child = ::fork();
    BOOST_REQUIRE(child >= 0);
    if (child > 0) return child;
    ::execv(pointers[0], pointers.data());
    ::_exit(127);
}

int wait_for(pid_t child) {
    int status = 0;
    ::waitpid(child, &status, 0);
    return exit_code_of_wait_status(status);
}

std::string content(std::filesystem::path const& path) { return read_file(path).value_or(""); }

bool contains(std::string const& text, std::string_view part) { return text.find(part) != std::string::npos; }

/// Everything of the host machine that a cluster could change and leave behind.
struct HostState {
    std::set<std::string> mounts, links, cgroups, processes;
};

/// Checks that `after` contains nothing that `before` lacks. Other programs may have removed things
/// meanwhile.
void check_nothing_added(HostState const& before, HostState const& after) {
    auto const check = [](std::set<std::string> const& old, std::set<std::string> const& now) {
        for (auto const& name : now) BOOST_TEST(old.contains(name), "left behind: " << name);
    };
    check(before.mounts, after.mounts);
    check(before.links, after.links);
    check(before.cgroups, after.cgroups);
    check(before.processes, after.processes);
}

std::set<std::string> names_containing(std::string const& part, std::filesystem::path const& directory) {
    std::set<std::string> found;
    for (auto const& name : must(list_directory(directory))) {
        if (contains(name, part)) found.insert(name);
    }
    return found;
}

std::set<std::string> processes_mentioning(std::string const& part) {
    std::set<std::string> found;
    for (auto const& pid : must(list_directory("/proc"))) {
        auto const command_line = content(std::filesystem::path("/proc") / pid / "cmdline");
        if (contains(command_line, part)) found.insert(command_line);
    }
    return found;
}

HostState host_state(std::string const& name) {
    HostState state;
    auto const mounts = content("/proc/self/mounts");
    for (auto const line : split_lines(mounts)) state.mounts.emplace(line);
    for (auto const& link : must(list_directory("/sys/class/net"))) state.links.insert(link);
    state.cgroups = names_containing(name, "/sys/fs/cgroup/freezer");
    state.processes = processes_mentioning(name);
    return state;
}

}  // namespace loopback_site_test

BOOST_AUTO_TEST_SUITE(loopback_site_test)

BOOST_AUTO_TEST_CASE(up_starts_idle_nodes_with_slots_in_two_partitions) {
    LoopbackCluster const cluster({.nodes = 3, .slots = 2, .grace_s = 17});
    BOOST_TEST(cluster.shell("sinfo --noheader --Node --partition=compute --format='%N %T %G %c'") ==
               "n0 idle gpu:2 8\nn1 idle gpu:2 8\nn2 idle gpu:2 8");
    auto const compute = cluster.shell("scontrol --oneliner show partition compute");
    for (auto const* setting :
         {"Default=YES", "GraceTime=17", "PreemptMode=REQUEUE", "OverSubscribe=EXCLUSIVE"}) {
        BOOST_TEST(contains(compute, setting), setting << " in " << compute);
    }
    BOOST_TEST(contains(cluster.shell("scontrol --oneliner show partition urgent"), "PriorityTier=10"));
    BOOST_TEST(read_status(cluster)["state"] == "up");
    BOOST_TEST(read_status(cluster)["nodes"].size() == 3u);
}

BOOST_AUTO_TEST_CASE(each_node_has_its_own_host_name_network_and_temporary_directories) {
    LoopbackCluster const cluster;
    auto const names = cluster.shell("srun -N2 bash -c 'hostname | tee /tmp/who /var/tmp/who /dev/shm/who'");
    BOOST_TEST(sorted_lines(names) == (std::vector<std::string>{"n0", "n1"}),
               boost::test_tools::per_element());
    auto const private_files = cluster.shell("srun -N2 -l cat /tmp/who /var/tmp/who /dev/shm/who");
    BOOST_TEST(sorted_lines(private_files) ==
                   (std::vector<std::string>{"0: n0", "0: n0", "0: n0", "1: n1", "1: n1", "1: n1"}),
               boost::test_tools::per_element());
    BOOST_TEST(cluster.shell("srun -N1 -w n0 id --user --name") == "researcher");
    BOOST_TEST(cluster.shell("srun -N1 -w n0 --gres=gpu:4 printenv CUDA_VISIBLE_DEVICES") == "0,1,2,3");
    BOOST_TEST(cluster.shell("srun -N1 -w n0 bash -c 'exec 3<>/dev/tcp/n1/6818 && ls /sys/class/net'") ==
               "eth0\nlo");
    BOOST_TEST(cluster.shell("srun -N2 bash -c 'echo $SLURM_NODEID > $DET_ROOT/node.$SLURM_NODEID'; "
                             "cat $DET_ROOT/node.*") == "0\n1");
}

BOOST_AUTO_TEST_CASE(a_login_has_its_own_environment_and_returns_the_exit_code) {
    LoopbackCluster const cluster({.nodes = 1});
    BOOST_TEST(cluster.shell("id --user --name; hostname; pwd; printenv DET_ROOT") ==
               fmt::format("researcher\nlogin\n{}\n{}", cluster.home().string(),
                           (cluster.shared() / "det").string()));
    BOOST_TEST(cluster.login("researcher", {"sh", "-c", "exit 7"}).exit_code == 7);
    BOOST_TEST(cluster.login("researcher", {"sh", "-c", "kill -9 $$"}).exit_code == 128 + SIGKILL);
    BOOST_TEST(cluster.login("researcher", {"no-such-program"}).exit_code == 127);
    BOOST_TEST(cluster.login("researcher", {"printf", "%s.", "--", "-N4"}).out == "--.-N4.");
    BOOST_TEST(cluster.login("root", {"id", "--user"}).out == "0\n");
    auto const other_user = cluster.login("colleague", {"cat", (cluster.home() / ".profile").string()});
    BOOST_TEST(contains(other_user.err, "Permission denied"));
    BOOST_TEST(contains(cluster.login("nobody-at-all", {"true"}).err, "error: no user 'nobody-at-all'"));
}

BOOST_AUTO_TEST_CASE(a_login_forwards_signals_and_its_command_ends_with_it) {
    LoopbackCluster const cluster({.nodes = 1});
    auto const ready = cluster.home() / "ready";
    auto const start = [&](std::string const& script) {
        std::filesystem::remove(ready);
        auto const child = start_cluster_command({"login", "--name", cluster.name(), "sh", "-c", script});
        cluster.wait_until([&] { return path_exists(ready); }, 10s, "the command runs");
        return child;
    };
    auto const terminated = start("trap 'exit 3' TERM; touch ~/ready; while :; do sleep 0.1; done");
    ::kill(terminated, SIGTERM);
    BOOST_TEST(wait_for(terminated) == 3);

    auto const killed = start("touch ~/ready; exec sleep 4711");
    auto const is_running = [] {
        return !processes_mentioning("sleep" + std::string(1, '\0') + "4711").empty();
    };
    BOOST_TEST(is_running());
    ::kill(killed, SIGKILL);
    BOOST_TEST(wait_for(killed) == 128 + SIGKILL);
    cluster.wait_until([&] { return !is_running(); }, 5s, "the command ends");
}

/// Preempts a job. Its batch script and a child process of the script write the signals that they receive to
/// a file.
void check_preemption(std::string const& proctrack, std::string const& expected) {
    LoopbackCluster const cluster({.nodes = 1, .grace_s = 0, .proctrack = proctrack});
    auto const received = cluster.home() / "received";
    cluster.shell(R"(cat > job.sh <<'END'
#!/bin/bash
[ -n "$SLURM_RESTART_COUNT" ] && exit 0
bash -c 'trap "echo child >> received; exit" TERM; echo ready >> received; while :; do sleep 0.1; done' &
child=$!
# Slurm kills what is left when the script ends: gives the child time to write its line.
trap 'echo script >> received; timeout 3 tail --pid=$child -f /dev/null; exit' TERM
while :; do sleep 0.1; done
END
sbatch --output=job.out job.sh)");
    cluster.wait_until([&] { return content(received) == "ready\n"; }, 20s, "the job runs");
    cluster.shell("sbatch --partition=urgent --output=urgent.out --wrap='echo done'");
    cluster.wait_until([&] { return content(cluster.home() / "urgent.out") == "done\n"; }, 40s,
                       "the urgent job ran");
    auto const lines = join(sorted_lines(content(received)), " ");
    BOOST_TEST(lines == expected);
    auto const job = cluster.shell("scontrol --oneliner show job 1");
    BOOST_TEST(contains(job, "JobState=PENDING"), job);
    BOOST_TEST(contains(job, "Restarts=1"), job);
}

BOOST_AUTO_TEST_CASE(urgent_preempts_and_requeues_and_with_cgroup_only_the_script_receives_sigterm) {
    check_preemption("cgroup", "ready script");
}

BOOST_AUTO_TEST_CASE(urgent_preempts_and_requeues_and_with_linuxproc_every_process_receives_sigterm) {
    check_preemption("linuxproc", "child ready script");
}

#ifdef DET_MPI_HOSTS
BOOST_AUTO_TEST_CASE(open_mpi_runs_across_nodes_by_pmix) {
    LoopbackCluster const cluster;
    // UCX writes a warning to stdout if the other node disconnects first.
    auto const output =
        cluster.login("researcher", {"env", "UCX_LOG_LEVEL=fatal", "timeout", "20", "srun", "--mpi=pmix",
                                     "--kill-on-bad-exit=1", "-N2", "--ntasks-per-node=2",
                                     (cluster.state() / "software" / DET_MPI_HOSTS).string()});
    auto const lines = sorted_lines(output.out);
    BOOST_TEST_INFO(output.out << output.err);
    BOOST_TEST(
        lines == (std::vector<std::string>{"rank 0 of 4 on n0 counts 4", "rank 1 of 4 on n0 counts 4",
                                           "rank 2 of 4 on n1 counts 4", "rank 3 of 4 on n1 counts 4"}),
        boost::test_tools::per_element());
}
#endif

BOOST_AUTO_TEST_CASE(two_clusters_run_side_by_side) {
    LoopbackCluster const one({.nodes = 1}), other({.nodes = 2, .slots = 0});
    for (auto const* cluster : {&one, &other}) {
        cluster->shell("sbatch --nodes=1 --output=out --wrap='srun hostname; sleep 100'");
    }
    for (auto const* cluster : {&one, &other}) {
        cluster->wait_until([&] { return content(cluster->home() / "out") == "n0\n"; }, 20s, "the job runs");
        BOOST_TEST(cluster->shell("squeue --noheader --format=%i") == "1");
    }
    auto const list = run_cluster_command({"list"}).out;
    BOOST_TEST(contains(list, one.name() + ": up, 1 node"));
    BOOST_TEST(contains(list, other.name() + ": up, 2 nodes"));
    auto const again = run_cluster_command({"up", "--name", one.name()});
    BOOST_TEST(again.exit_code == 1);
    BOOST_TEST(contains(again.err, "is up already [already-up]"), again.err);
}

BOOST_AUTO_TEST_CASE(slurm_option_sets_a_line_and_reports_an_unknown_key) {
    {
        LoopbackCluster const cluster(
            {.nodes = 2, .slurm_options = {"MaxArraySize=11", "PartitionName=small Nodes=n0"}});
        BOOST_TEST(contains(cluster.shell("scontrol show config"), "MaxArraySize            = 11"));
        BOOST_TEST(cluster.shell("sinfo --noheader --partition=small --format=%N") == "n0");
    }
    auto const output = run_cluster_command({"up", "--name=wrong", "--nodes=1", "--slurm-option=Bogus=1"});
    BOOST_TEST(output.exit_code == 1);
    BOOST_TEST(contains(output.err, "unrecognized key: Bogus"), output.err);
    BOOST_TEST(!path_exists("/var/lib/det-loopback/wrong"));
}

BOOST_AUTO_TEST_CASE(cpus_that_the_sockets_cannot_share_are_refused) {
    auto const output = run_cluster_command({"up", "--name=wrong", "--profile=two-sockets", "--cpus=5"});
    BOOST_TEST(output.exit_code == 2);
    BOOST_TEST(contains(output.err, "5 CPUs can't be divided among the 2 sockets"), output.err);
    BOOST_TEST(!path_exists("/var/lib/det-loopback/wrong"));
}

BOOST_AUTO_TEST_CASE(every_node_sees_a_state_directory_below_tmp) {
    TemporaryDirectory const base;
    std::string const dir = "--dir=" + base.path().string();
    auto const up = run_cluster_command({"up", dir, "--nodes=2", "--no-plugin"});
    BOOST_TEST_REQUIRE(up.exit_code == 0, up.err);
    auto const output = run_cluster_command({"login", dir, "sh", "-c", "cd && srun -N2 sh -c 'pwd; ls -a'"});
    BOOST_TEST(run_cluster_command({"down", dir}).exit_code == 0);
    auto const home = (base / "default/shared/home/researcher").string();
    BOOST_TEST(sorted_lines(output.out) ==
                   (std::vector<std::string>{".", ".", "..", "..", ".profile", ".profile", home, home}),
               boost::test_tools::per_element());
    BOOST_TEST(must(list_directory(base.path())).empty());
}

BOOST_AUTO_TEST_CASE(a_daemon_that_dies_is_restarted) {
    LoopbackCluster const cluster;
    ::kill(find_daemon(cluster, "slurmd.n1")["pid"].get<pid_t>(), SIGKILL);
    ::kill(find_daemon(cluster, "slurmctld")["pid"].get<pid_t>(), SIGKILL);
    auto const has_restarted = [&](std::string const& name) {
        auto const daemon = find_daemon(cluster, name);
        return daemon["state"] == "running" && daemon["restarts"] == 1;
    };
    cluster.wait_until([&] { return has_restarted("slurmd.n1") && has_restarted("slurmctld"); }, 10s,
                       "both have restarted");
    BOOST_TEST(sorted_lines(cluster.shell("srun -N2 hostname")) == (std::vector<std::string>{"n0", "n1"}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(cut_and_heal_take_the_network_of_a_node_down_and_up) {
    LoopbackCluster const cluster;
    auto const reaches_n1 = [&] {
        return cluster.login("researcher", {"timeout", "2", "bash", "-c", "exec 3<>/dev/tcp/n1/6818"})
                   .exit_code == 0;
    };
    BOOST_TEST(reaches_n1());
    cluster.command({"node", "cut", "n1"});
    BOOST_TEST(!reaches_n1());
    cluster.command({"node", "heal", "n1"});
    cluster.wait_until(reaches_n1, 10s, "n1 can be reached again");
}

BOOST_AUTO_TEST_CASE(switching_a_node_off_ends_its_processes) {
    LoopbackCluster const cluster({.nodes = 1, .slurm_options = {"SlurmdTimeout=5"}});
    auto const ticks = cluster.home() / "ticks";
    cluster.shell("sbatch --no-requeue --wrap='while :; do date +%N > ticks; sleep 0.1; done'");
    cluster.wait_until([&] { return path_exists(ticks); }, 20s, "the job runs");
    cluster.command({"node", "off", "n0"});
    auto const last = content(ticks);
    BOOST_TEST(find_daemon(cluster, "slurmd.n0")["state"] == "killed");
    ::usleep(500'000);
    BOOST_TEST(content(ticks) == last);
    auto const node_is = [&](std::string const& state) {
        return cluster.shell("sinfo --noheader --partition=compute --format=%T") == state;
    };
    cluster.wait_until([&] { return node_is("down*"); }, 40s, "slurmctld notices");
    cluster.command({"node", "on", "n0"});
    cluster.wait_until([&] { return node_is("idle"); }, 20s, "n0 is back without the job");
}

BOOST_AUTO_TEST_CASE(down_removes_everything) {
    std::string name;
    HostState before;
    {
        LoopbackCluster const cluster;
        name = cluster.name();
        cluster.shell("sbatch -N2 --output=out --wrap='srun sleep 1000' && sbatch -N1 --wrap='sleep 1000'");
        cluster.wait_until([&] { return !cluster.shell("squeue --noheader --states=R").empty(); }, 20s,
                           "a job runs");
        before = host_state("no such cluster");
        BOOST_TEST(!host_state(name).processes.empty());
        // The host machine does not see the bridge and the mounts while the cluster is up.
        BOOST_TEST((host_state(name).links == before.links));
        BOOST_TEST((host_state(name).mounts == before.mounts));
    }
    check_nothing_added(before, host_state(name));
    BOOST_TEST(!path_exists("/var/lib/det-loopback/" + name));
    BOOST_TEST(!path_exists("/var/lib/det-loopback/" + name + ".lock"));
    auto const again = run_cluster_command({"down", "--name", name});
    BOOST_TEST(again.exit_code == 0);
    BOOST_TEST(again.out == fmt::format("no cluster '{}'\n", name));
}

BOOST_AUTO_TEST_CASE(killing_the_init_process_ends_everything_and_down_removes_the_files) {
    LoopbackCluster const cluster;
    cluster.shell("sbatch -N2 --wrap='srun sleep 1000' > /dev/null");
    cluster.wait_until([&] { return !cluster.shell("squeue --noheader --states=R").empty(); }, 20s,
                       "a job runs");
    ::kill(find_daemon(cluster, "init")["pid"].get<pid_t>(), SIGKILL);
    cluster.wait_until([&] { return host_state(cluster.name()).processes.empty(); }, 10s,
                       "all processes end");
    cluster.wait_until([&] { return is_not_running(cluster); }, 10s, "status reports no cluster");
    BOOST_TEST(run_cluster_command({"down", "--name", cluster.name()}).exit_code == 0);
    BOOST_TEST(host_state(cluster.name()).cgroups.empty());
    BOOST_TEST(!path_exists(cluster.state()));
}

BOOST_AUTO_TEST_CASE(up_removes_the_files_of_a_dead_cluster) {
    LoopbackCluster const cluster({.nodes = 1});
    ::kill(find_daemon(cluster, "init")["pid"].get<pid_t>(), SIGKILL);
    cluster.wait_until([&] { return is_not_running(cluster); }, 10s, "it is dead");
    auto const up = run_cluster_command({"up", "--no-plugin", "--nodes=1", "--name", cluster.name()});
    BOOST_TEST(up.exit_code == 0, up.err);
    BOOST_TEST(contains(up.err, "removing the files of an earlier cluster"), up.err);
    BOOST_TEST(cluster.shell("srun hostname") == "n0");
}

BOOST_AUTO_TEST_CASE(an_interrupted_up_removes_everything) {
    auto const name = fmt::format("test-{}-interrupted", ::getpid());
    // n9 has no slurmd, so it never becomes idle and 'up' waits.
    auto const up = start_cluster_command({"up", "--no-plugin", "--nodes=1", "--name", name,
                                           "--slurm-option=NodeName=n9 NodeAddr=10.77.0.99",
                                           "--slurm-option=PartitionName=compute Nodes=n0,n9 Default=YES"});
    auto const deadline = std::chrono::steady_clock::now() + 30s;
    auto const slurmd_output =
        std::filesystem::path("/var/lib/det-loopback") / name / "log" / "slurmd.n0.out";
    while (!path_exists(slurmd_output) && std::chrono::steady_clock::now() < deadline) ::usleep(10'000);
    ::kill(up, SIGINT);
    BOOST_TEST(wait_for(up) == 130);
    BOOST_TEST(!path_exists("/var/lib/det-loopback/" + name));
    BOOST_TEST(host_state(name).processes.empty());
}

BOOST_AUTO_TEST_CASE(without_root_up_fails_and_explains_why) {
    // A copy, because the build tree may be in a directory that only root can enter.
    TemporaryDirectory const directory;
    std::filesystem::permissions(directory.path(), std::filesystem::perms(0755));
    std::filesystem::copy_file(det::test::built_path("bin/det-loopback"), directory / "det-loopback");
    auto const output = must(SystemProcessRunner().run(
        {{"setpriv", "--reuid=65534", "--clear-groups", (directory / "det-loopback").string(), "up"},
         Environment::of_this_process()}));
    BOOST_TEST(output.exit_code == 1);
    BOOST_TEST(
        output.err ==
        "cluster: error: this needs root: it makes network, mount and PID namespaces, and device nodes "
        "[permission]\n  hint: run it with 'sudo'\n");
}

BOOST_AUTO_TEST_SUITE_END()
