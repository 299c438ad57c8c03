// The cluster that the other cluster tests stand on: what it promises in site-configs/loopback/README.md.
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

namespace {

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

bool has_no_keeper(LoopbackCluster const& cluster) {
    return run_cluster_command({"status", "--name", cluster.name()}).exit_code == 4;
}

/// Without waiting for it.
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

/// Everything on the machine by which a cluster could be remembered.
struct Traces {
    std::set<std::string> mounts, links, cgroups, processes;
};

/// Nothing there that was not there before; what other programs took away meanwhile is none of our business.
void check_no_more_than(Traces const& before, Traces const& after) {
    auto const check = [](std::set<std::string> const& old, std::set<std::string> const& now) {
        for (auto const& name : now) BOOST_TEST(old.contains(name), "left behind: " << name);
    };
    check(before.mounts, after.mounts);
    check(before.links, after.links);
    check(before.cgroups, after.cgroups);
    check(before.processes, after.processes);
}

std::set<std::string> names_that_contain(std::string const& part, std::filesystem::path const& directory) {
    std::set<std::string> found;
    for (auto const& name : must(list_directory(directory))) {
        if (contains(name, part)) found.insert(name);
    }
    return found;
}

std::set<std::string> processes_that_name(std::string const& part) {
    std::set<std::string> found;
    for (auto const& pid : must(list_directory("/proc"))) {
        auto const command_line = content(std::filesystem::path("/proc") / pid / "cmdline");
        if (contains(command_line, part)) found.insert(command_line);
    }
    return found;
}

Traces traces_of(std::string const& name) {
    Traces traces;
    auto const mounts = content("/proc/self/mounts");
    for (auto const line : split_lines(mounts)) traces.mounts.emplace(line);
    for (auto const& link : must(list_directory("/sys/class/net"))) traces.links.insert(link);
    traces.cgroups = names_that_contain(name, "/sys/fs/cgroup/freezer");
    traces.processes = processes_that_name(name);
    return traces;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(loopback_site_test)

BOOST_AUTO_TEST_CASE(up_gives_idle_nodes_with_their_slots_in_two_partitions) {
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

BOOST_AUTO_TEST_CASE(nodes_are_hosts_of_their_own) {
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

BOOST_AUTO_TEST_CASE(a_login_is_like_one_through_ssh) {
    LoopbackCluster const cluster({.nodes = 1});
    BOOST_TEST(cluster.shell("id --user --name; hostname; pwd; printenv DET_ROOT") ==
               fmt::format("researcher\nlogin\n{}\n{}", cluster.home().string(),
                           (cluster.shared() / "det").string()));
    BOOST_TEST(cluster.login("researcher", {"sh", "-c", "exit 7"}).exit_code == 7);
    BOOST_TEST(cluster.login("researcher", {"sh", "-c", "kill -9 $$"}).exit_code == 128 + SIGKILL);
    BOOST_TEST(cluster.login("researcher", {"no-such-program"}).exit_code == 127);
    BOOST_TEST(cluster.login("researcher", {"printf", "%s.", "--", "-N4"}).out == "--.-N4.");
    BOOST_TEST(cluster.login("root", {"id", "--user"}).out == "0\n");
    auto const stranger = cluster.login("colleague", {"cat", (cluster.home() / ".profile").string()});
    BOOST_TEST(contains(stranger.err, "Permission denied"));
    BOOST_TEST(contains(cluster.login("nobody-at-all", {"true"}).err, "error: no user 'nobody-at-all'"));
}

BOOST_AUTO_TEST_CASE(a_login_passes_signals_on_and_takes_its_command_along) {
    LoopbackCluster const cluster({.nodes = 1});
    auto const ready = cluster.home() / "ready";
    auto const begin = [&](std::string const& script) {
        std::filesystem::remove(ready);
        auto const child = start_cluster_command({"login", "--name", cluster.name(), "sh", "-c", script});
        cluster.wait_until([&] { return path_exists(ready); }, 10s, "the command runs");
        return child;
    };
    auto const asked = begin("trap 'exit 3' TERM; touch ~/ready; while :; do sleep 0.1; done");
    ::kill(asked, SIGTERM);
    BOOST_TEST(wait_for(asked) == 3);

    auto const killed = begin("touch ~/ready; exec sleep 4711");
    auto const sleeps = [] { return !processes_that_name("sleep" + std::string(1, '\0') + "4711").empty(); };
    BOOST_TEST(sleeps());
    ::kill(killed, SIGKILL);
    BOOST_TEST(wait_for(killed) == 128 + SIGKILL);
    cluster.wait_until([&] { return !sleeps(); }, 5s, "the command ends");
}

/// A preempted job whose batch script and whose child say which signals they get.
void check_preemption(std::string const& proctrack, std::string const& who_hears_term) {
    LoopbackCluster const cluster({.nodes = 1, .grace_s = 0, .proctrack = proctrack});
    auto const said = cluster.home() / "said";
    cluster.shell(R"(cat > job.sh <<'END'
#!/bin/bash
[ -n "$SLURM_RESTART_COUNT" ] && exit 0
bash -c 'trap "echo child >> said; exit" TERM; echo ready >> said; while :; do sleep 0.1; done' &
trap 'echo script >> said; exit' TERM
while :; do sleep 0.1; done
END
sbatch --output=job.out job.sh)");
    cluster.wait_until([&] { return content(said) == "ready\n"; }, 20s, "the job runs");
    cluster.shell("sbatch --partition=urgent --output=urgent.out --wrap='echo done'");
    cluster.wait_until([&] { return content(cluster.home() / "urgent.out") == "done\n"; }, 40s,
                       "the urgent job ran");
    auto const heard = join(sorted_lines(content(said)), " ");
    BOOST_TEST(heard == who_hears_term);
    auto const job = cluster.shell("scontrol --oneliner show job 1");
    BOOST_TEST(contains(job, "JobState=PENDING"), job);
    BOOST_TEST(contains(job, "Restarts=1"), job);
}

BOOST_AUTO_TEST_CASE(urgent_preempts_and_requeues_and_with_cgroups_only_the_script_hears_of_it) {
    check_preemption("cgroup", "ready script");
}

BOOST_AUTO_TEST_CASE(urgent_preempts_and_requeues_and_with_linuxproc_every_process_hears_of_it) {
    check_preemption("linuxproc", "child ready script");
}

#ifdef DET_MPI_HOSTS
BOOST_AUTO_TEST_CASE(open_mpi_runs_across_nodes_by_pmix) {
    LoopbackCluster const cluster;
    // UCX says on stdout where the other node was the quicker one to leave.
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

BOOST_AUTO_TEST_CASE(two_clusters_live_side_by_side) {
    LoopbackCluster const one({.nodes = 1}), other({.nodes = 2, .slots = 0});
    for (auto const* cluster : {&one, &other}) {
        cluster->shell("sbatch --nodes=1 --output=out --wrap='srun hostname; sleep 100'");
    }
    for (auto const* cluster : {&one, &other}) {
        cluster->wait_until([&] { return content(cluster->home() / "out") == "n0\n"; }, 20s, "the job runs");
        BOOST_TEST(cluster->shell("squeue --noheader --format=%i") == "1");
    }
    auto const list = run_cluster_command({"list"}).out;
    BOOST_TEST(contains(list, one.name() + ": up, 1 nodes"));
    BOOST_TEST(contains(list, other.name() + ": up, 2 nodes"));
    auto const again = run_cluster_command({"up", "--name", one.name()});
    BOOST_TEST(again.exit_code == 1);
    BOOST_TEST(contains(again.err, "is up already [already-up]"), again.err);
}

BOOST_AUTO_TEST_CASE(an_option_of_slurm_conf_can_be_set_and_a_wrong_one_is_explained) {
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

BOOST_AUTO_TEST_CASE(a_directory_below_tmp_is_seen_by_every_node) {
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

BOOST_AUTO_TEST_CASE(a_daemon_that_dies_is_started_again) {
    LoopbackCluster const cluster;
    ::kill(find_daemon(cluster, "slurmd.n1")["pid"].get<pid_t>(), SIGKILL);
    ::kill(find_daemon(cluster, "slurmctld")["pid"].get<pid_t>(), SIGKILL);
    auto const is_back = [&](std::string const& name) {
        auto const daemon = find_daemon(cluster, name);
        return daemon["state"] == "running" && daemon["restarts"] == 1;
    };
    cluster.wait_until([&] { return is_back("slurmd.n1") && is_back("slurmctld"); }, 10s, "both are back");
    BOOST_TEST(sorted_lines(cluster.shell("srun -N2 hostname")) == (std::vector<std::string>{"n0", "n1"}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_node_can_be_cut_off_and_healed) {
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

BOOST_AUTO_TEST_CASE(a_node_that_is_switched_off_takes_its_processes_along) {
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

BOOST_AUTO_TEST_CASE(down_leaves_nothing_behind) {
    std::string name;
    Traces before;
    {
        LoopbackCluster const cluster;
        name = cluster.name();
        cluster.shell("sbatch -N2 --output=out --wrap='srun sleep 1000' && sbatch -N1 --wrap='sleep 1000'");
        cluster.wait_until([&] { return !cluster.shell("squeue --noheader --states=R").empty(); }, 20s,
                           "a job runs");
        before = traces_of("no such cluster");
        BOOST_TEST(!traces_of(name).processes.empty());
        // The host sees nothing of the bridge and the mounts even while the cluster is up.
        BOOST_TEST((traces_of(name).links == before.links));
        BOOST_TEST((traces_of(name).mounts == before.mounts));
    }
    check_no_more_than(before, traces_of(name));
    BOOST_TEST(!path_exists("/var/lib/det-loopback/" + name));
    BOOST_TEST(!path_exists("/var/lib/det-loopback/" + name + ".lock"));
    auto const again = run_cluster_command({"down", "--name", name});
    BOOST_TEST(again.exit_code == 0);
    BOOST_TEST(again.out == fmt::format("no cluster '{}'\n", name));
}

BOOST_AUTO_TEST_CASE(everything_ends_with_a_killed_keeper_and_down_removes_the_rest) {
    LoopbackCluster const cluster;
    cluster.shell("sbatch -N2 --wrap='srun sleep 1000' > /dev/null");
    cluster.wait_until([&] { return !cluster.shell("squeue --noheader --states=R").empty(); }, 20s,
                       "a job runs");
    ::kill(find_daemon(cluster, "keeper")["pid"].get<pid_t>(), SIGKILL);
    cluster.wait_until([&] { return traces_of(cluster.name()).processes.empty(); }, 10s, "all processes end");
    cluster.wait_until([&] { return has_no_keeper(cluster); }, 10s, "status says so");
    BOOST_TEST(run_cluster_command({"down", "--name", cluster.name()}).exit_code == 0);
    BOOST_TEST(traces_of(cluster.name()).cgroups.empty());
    BOOST_TEST(!path_exists(cluster.state()));
}

BOOST_AUTO_TEST_CASE(up_removes_what_a_dead_cluster_left) {
    LoopbackCluster const cluster({.nodes = 1});
    ::kill(find_daemon(cluster, "keeper")["pid"].get<pid_t>(), SIGKILL);
    cluster.wait_until([&] { return has_no_keeper(cluster); }, 10s, "it is dead");
    auto const up = run_cluster_command({"up", "--no-plugin", "--nodes=1", "--name", cluster.name()});
    BOOST_TEST(up.exit_code == 0, up.err);
    BOOST_TEST(contains(up.err, "removing what an earlier cluster"), up.err);
    BOOST_TEST(cluster.shell("srun hostname") == "n0");
}

BOOST_AUTO_TEST_CASE(an_interrupted_up_takes_everything_away_again) {
    auto const name = fmt::format("test-{}-interrupted", ::getpid());
    // A node that nobody plays: it will never be idle.
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
    BOOST_TEST(traces_of(name).processes.empty());
}

BOOST_AUTO_TEST_CASE(without_root_it_says_what_it_needs) {
    // A copy, because the build tree may lie where only root may go.
    TemporaryDirectory const place;
    std::filesystem::permissions(place.path(), std::filesystem::perms(0755));
    std::filesystem::copy_file(det::test::built_path("bin/det-loopback"), place / "det-loopback");
    auto const output = must(SystemProcessRunner().run(
        {{"setpriv", "--reuid=65534", "--clear-groups", (place / "det-loopback").string(), "up"},
         Environment::of_this_process()}));
    BOOST_TEST(output.exit_code == 1);
    BOOST_TEST(
        output.err ==
        "cluster: error: this needs root: it makes network, mount and PID namespaces, and device nodes "
        "[permission]\n  hint: run it with 'sudo'\n");
}

BOOST_AUTO_TEST_SUITE_END()
