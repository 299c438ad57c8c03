// The main uses of the product with another release of Slurm (DET_TEST_SLURM) and another policy of the site
// (DET_TEST_PROFILE).
#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <fmt/format.h>
#include <iostream>

#include "check_result.hpp"
#include "digits_cluster.hpp"

using namespace det;
using namespace std::chrono_literals;

namespace slurm_release {

std::string_view profile_of_test() {
    auto const* const profile = std::getenv("DET_TEST_PROFILE");
    return profile ? profile : "";
}

/// A trial must end by itself in the grace period. Near its end the supervisor kills the step and queues the
/// job again, and a loaded machine may need the usual 30 s to notice the preemption. No job here waits for
/// the end.
LoopbackOptions with_long_grace() {
    auto options = DigitsCluster::with_plugin();
    options.grace_s = 120;
    if (profile_of_test() == "shared") options.slots = 8;  // four a100, as other profiles have GPUs
    return options;
}

/// The options that a user needs with a profile.
struct ProfileOptions {
    std::string_view experiment;  // options of `experiment create`
    std::string_view urgent = "--partition urgent";
};

ProfileOptions options_for(std::string_view profile) {
    if (profile == "shared")
        return {"--config slurm.gpu_type=a100", "--partition urgent --exclusive --mem=100"};
    if (profile == "preempt-qos") return {"", "--qos urgent"};
    return {""};
}

struct Site : DigitsCluster {
    Site() : DigitsCluster(with_long_grace()) {}

    int create(std::string const& options) const {
        return DigitsCluster::create(fmt::format("{} {}", user_options.experiment, options));
    }
    /// The node of an experiment's first run.
    std::string first_node(int experiment) const {
        return trial(experiment).at("runs").at(0).at("hosts").get<std::string>();
    }

    ProfileOptions user_options = options_for(profile_of_test());

    std::size_t validations(int experiment) const {
        return ask(fmt::format("trial metrics {} --group validation", experiment)).size();
    }
};

/// On Slurm 26.05, lays the tasks of partition urgent out by the names of nodes, and lists nodes by their
/// switches: rank 0 is on n0, and n3 is the first of the list. Returns whether this release can do so.
bool order_nodes_against_their_names(LoopbackCluster const& cluster) {
    auto const status = run_cluster_command({"status", "--json", "--name=" + cluster.name()});
    auto const release = nlohmann::json::parse(status.out).at("slurm").get<std::string>();
    if (!release.starts_with("26.")) return false;
    auto const etc = cluster.state() / "etc";
    must(write_file(etc / "topology.yaml", R"(---
- topology: by_switch
  cluster_default: true
  tree:
    switches:
      - {switch: top, children: "left,right"}
      - {switch: left, nodes: "n[2-3]"}
      - {switch: right, nodes: "n[0-1]"}
- topology: by_name
  cluster_default: false
  flat: {alpha_step_rank: true}
)",
                    0644));
    auto text = must(read_file(etc / "slurm.conf"));
    auto const at = text.find("PartitionName=urgent ");
    BOOST_REQUIRE(at != std::string::npos);
    text.insert(text.find('\n', at), " Topology=by_name");
    must(write_file(etc / "slurm.conf",
                    text + "TopologyPlugin=topology/tree\nTopologyParam=SwitchAsNodeRank\n", 0644));
    for (std::string const daemon : {"slurmctld", "slurmd.n0", "slurmd.n1", "slurmd.n2", "slurmd.n3"}) {
        cluster.command({"daemon", "kill", daemon});
        cluster.command({"daemon", "start", daemon});
    }
    cluster.wait_until(
        [&] {
            auto const nodes = cluster.login("researcher", {"sinfo", "--noheader", "--Node", "--format=%T"});
            return nodes.exit_code == 0 && nodes.out.find_first_not_of("idle\n") == std::string::npos;
        },
        60s, "the nodes are idle");
    return true;
}

LoopbackOptions four_nodes() {
    auto options = DigitsCluster::with_plugin();
    options.nodes = 4;
    options.slots = 2;
    return options;
}

}  // namespace slurm_release

// One case checks everything on one cluster: each start of a cluster takes seconds.
BOOST_AUTO_TEST_SUITE(slurm_release)

BOOST_FIXTURE_TEST_CASE(trials_train_are_preempted_and_resume_and_scripts_get_ranks, Site) {
    auto const status = run_cluster_command({"status", "--json", "--name=" + name()});
    BOOST_TEST_MESSAGE(status.out);
    std::cout << "Slurm " << nlohmann::json::parse(status.out).at("slurm").get<std::string>() << std::endl;

    // The main job: eight ranks on two nodes.
    auto const short_one = create("--template mpi --config searcher.max_length.epochs=4");
    finish(short_one);
    BOOST_TEST(accuracy(short_one) > 0.5);

    // An urgent job preempts a training, which resumes at the step at which it stopped.
    auto const interrupted =
        create("--template mpi --config resources.slots_per_trial=4 --config searcher.max_length.epochs=400");
    wait_until([&] { return validations(interrupted) >= 2; }, 60s, "epochs");
    // One node: with profile accounting, a user has the GPUs of two.
    shell(fmt::format("srun {} --nodelist {} true", user_options.urgent, first_node(interrupted)));
    finish(interrupted);
    auto const runs = trial(interrupted).at("runs");
    BOOST_REQUIRE_MESSAGE(runs.size() == 2u, runs.dump(2));
    BOOST_TEST(runs[0].at("cause") == "preempted");
    BOOST_TEST(runs[0].at("follow") == "requeue");
    BOOST_TEST(runs[1].at("cause") == "finished");
    BOOST_TEST(shell(fmt::format("det-submit trial logs {} --rank 0 --run 1", interrupted))
                   .find(fmt::format("resumed at step {}", runs[1].at("steps_completed").get<int>())) !=
               std::string::npos);

    // A trial that finishes in the grace period of a preemption does not start again.
    auto const last =
        create(fmt::format("--config slurm.launch=rank --config resources.slots_per_trial=4 "
                           "--config 'entrypoint=[sh, -c, \"while [ ! -e {}/go ]; do sleep 0.1; "
                           "done\"]'",
                           home().string()));
    auto const shown = [&](char const* field) {
        return shell(fmt::format("squeue --noheader --states=all --Format={}:40 --name=exp-{}", field, last));
    };
    wait_for_state(last, "RUNNING");
    shell(fmt::format("sbatch {} --nodelist {} --output=/dev/null --wrap 'touch urgent'", user_options.urgent,
                      first_node(last)));
    wait_until([&] { return shown("PreemptTime").find("T") != std::string::npos; }, 60s, "the preemption");
    shell("touch go");
    finish(last);
    wait_until([&] { return path_exists(home() / "urgent"); }, 60s, "the urgent job runs");
    wait_until([&] { return shown("State") != "COMPLETING" && shown("State") != "RUNNING"; }, 60s, "the end");
    BOOST_REQUIRE_MESSAGE(trial(last).at("runs").size() == 1u, trial(last).at("runs").dump(2));
    BOOST_TEST(shown("State") != "PENDING");
    BOOST_TEST(shown("RestartCnt") == "0");

    // The plugin gives the tasks of a plain script their ranks, and labels to what goes to the script's
    // output.
    BOOST_TEST(shell("srun --det --nodes=2 --ntasks-per-node=2 sh -c 'echo $RANK of $WORLD_SIZE' | sort") ==
               "0 of 4\n1 of 4\n2 of 4\n3 of 4");
    must(write_file(home() / "script", "#!/bin/bash\n#SBATCH --det --ntasks=2\nsrun echo hi\n", 0644));
    BOOST_TEST(shell("sbatch --quiet --wait --output=out script; sort out") == "[rank=0] hi\n[rank=1] hi");
    // Rank 0 is on the second node of the list.
    BOOST_TEST(shell("srun --det --ntasks=2 --distribution=arbitrary --nodelist=n1,n0 "
                     "sh -c 'echo $RANK on $SLURMD_NODENAME, chief $MASTER_ADDR' | sort") ==
               "0 on n1, chief n1\n1 on n0, chief n1");
    // The queue is read through this release's libslurm.
    auto const held = shell("sbatch --parsable --hold --wrap true");
    auto const jobs = nlohmann::json::parse(shell("DET_SLURM_BACKEND=libslurm det-submit job list --json"));
    BOOST_TEST(std::ranges::any_of(jobs, [&](auto const& job) { return job.at("id") == held; }), jobs.dump());
    shell("scancel " + held);
    // With profile strict it finds something to change, and ends with 1.
    auto const checked = login("researcher", {"det-submit", "site", "check", "--json"});
    BOOST_TEST(nlohmann::json::parse(checked.out).is_object());
}

BOOST_AUTO_TEST_CASE(master_addr_is_the_node_of_rank_0_in_whatever_order_slurm_lists_the_nodes) {
    DigitsCluster const cluster(four_nodes());
    bool const is_reordered = order_nodes_against_their_names(cluster);
    auto const listed = cluster.shell(
        "srun --partition=urgent --nodes=4 sh -c '[ $SLURM_PROCID != 0 ] || echo $SLURM_STEP_NODELIST'");
    BOOST_TEST(listed == (is_reordered ? "n[2-3,0-1]" : "n[0-3]"));
    BOOST_TEST(cluster.shell("srun --det --partition=urgent --nodes=4 sh -c '[ $RANK != 0 ] || hostname; "
                             "echo $MASTER_ADDR' | sort -u") == "n0");

    auto const id = cluster.create(
        "--config resources.resource_pool=urgent --config slurm.launch=rank --config slurm.mpi=none "
        "--config 'entrypoint=if [ $RANK = 0 ]; then echo rank 0 on $(hostname); fi; "
        "echo chief $MASTER_ADDR $DET_CHIEF_IP; echo net $GLOO_SOCKET_IFNAME $NCCL_SOCKET_IFNAME'");
    cluster.finish(id);
    auto const texts = cluster.shell(fmt::format(
        "det-submit trial logs {} | sed 's/^[^ ]* [^ ]* //' | sort | uniq --count | sed 's/^ *//'", id));
    BOOST_TEST(texts.find("8 chief n0 n0") != std::string::npos, texts);
    BOOST_TEST(texts.find("rank 0 on n0") != std::string::npos, texts);
    BOOST_TEST(texts.find("8 net eth0 =eth0") != std::string::npos, texts);
    // The ranks of our own collectives find each other.
    auto const trained = cluster.create(
        "--template mpi --config resources.resource_pool=urgent --config searcher.max_length.epochs=2");
    cluster.finish(trained);
    BOOST_TEST(cluster.accuracy(trained) > 0.3);
}

BOOST_AUTO_TEST_CASE(a_job_whose_node_fails_is_queued_before_all_others_where_slurm_can) {
    auto const* release = std::getenv("DET_TEST_SLURM");
    if (release == nullptr || !std::string_view(release).starts_with("26.")) return;
    LoopbackOptions options;
    options.nodes = 3;
    options.slots = 2;
    options.slurm_options = {"SlurmdTimeout=10", "SlurmctldParameters=enable_expedited_requeue"};
    LoopbackCluster const cluster(options);
    cluster.shell(
        "mkdir code; echo 'echo GPUs $CUDA_VISIBLE_DEVICES; exec sleep 300' >code/run; printf '%s\\n' "
        "'name: x' 'entrypoint: sh run' 'searcher: {name: single, metric: x}' "
        "'resources: {slots_per_trial: 4}' >x.yaml; det-submit experiment create x.yaml code");
    auto const has_started = [&](int times) {
        auto const counted =
            cluster.login("researcher", {"sh", "-c", "det-submit trial logs 1 | grep --count 'GPUs 0,1'"});
        return parse_integer<int>(trim(counted.out)).value_or(0) == times;
    };
    cluster.wait_until([&] { return has_started(2); }, 30s, "both nodes run");
    cluster.command({"node", "cut", "n1"});
    cluster.wait_until([&] { return has_started(4); }, 60s, "both nodes of the next run have their GPUs");
    BOOST_TEST(cluster.shell("squeue --noheader --format='%A %N' | sed 's/^[0-9]* //'") == "n[0,2]");
    BOOST_TEST(cluster.shell("scontrol show job | grep --only-matching 'Restarts=[0-9]*'") == "Restarts=1");
}

BOOST_AUTO_TEST_SUITE_END()
