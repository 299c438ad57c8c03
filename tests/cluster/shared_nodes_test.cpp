// Nodes that jobs share, and limits on memory and on the tasks of an array, as many sites have them.
#include <det/foundation/files.hpp>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <set>

#include "check_result.hpp"
#include "loopback_cluster.hpp"

using namespace det;
using namespace std::chrono_literals;

namespace shared_nodes {

/// One node of four GPUs. The partition `compute` lets jobs share it, `urgent` limits their memory.
struct Site {
    LoopbackCluster cluster;

    explicit Site(LoopbackOptions const& wanted = options()) : cluster(wanted) {}
    static LoopbackOptions options() {
        LoopbackOptions options;
        options.nodes = 1;
        options.slurm_options = {
            "SelectTypeParameters=CR_Core_Memory",
            "SchedulerParameters=sched_interval=1,bf_interval=1,batch_sched_delay=1,max_array_tasks=2",
            "PartitionName=compute Default=YES Nodes=n0 MaxTime=INFINITE State=UP OverSubscribe=NO "
            "PriorityTier=1 "
            "GraceTime=30 PreemptMode=REQUEUE",
            "PartitionName=urgent Nodes=n0 MaxTime=INFINITE State=UP OverSubscribe=EXCLUSIVE PriorityTier=10 "
            "PreemptMode=OFF MaxMemPerNode=3000",
        };
        return options;
    }
    nlohmann::json ask(std::string const& command) const {
        return nlohmann::json::parse(cluster.shell("det-submit " + command + " --json"));
    }
    int create(std::string const& yaml) const {
        must(write_file(cluster.home() / "e.yaml", yaml, 0644));
        return ask("experiment create e.yaml")["id"].get<int>();
    }
    std::string state_after(int experiment) const {
        cluster.shell(fmt::format("det-submit experiment wait {} || true", experiment), 90s);
        return ask(fmt::format("experiment describe {}", experiment))["state"];
    }
    std::string script(int experiment) const {
        return must(
            read_file(cluster.shared() / fmt::format("det/experiments/{}/script.sbatch", experiment)));
    }
};

/// A node whose two GPUs are in the site file but not in slurm.conf. Slurm passes the resource limits of the
/// login shell to jobs, as it does by default.
struct SiteWithUnknownGpus : Site {
    SiteWithUnknownGpus() : Site(options()) {
        must(write_file(cluster.home() / "site.yaml",
                        "version: 1\npools: [{name: compute, slot_type: cuda, slots_per_node: 2}]\n", 0644));
    }
    static LoopbackOptions options() {
        LoopbackOptions options;
        options.nodes = 1;
        options.slots = 0;
        options.slurm_options = {"PropagateResourceLimits=ALL"};
        return options;
    }
};

std::string has_options(std::string const& script, std::vector<std::string> const& options) {
    for (auto const& option : options) {
        if (script.find("#SBATCH " + option + "\n") == std::string::npos)
            return option + " is missing: " + script;
    }
    return "";
}

}  // namespace shared_nodes

BOOST_AUTO_TEST_SUITE(shared_nodes)

BOOST_FIXTURE_TEST_CASE(trials_of_other_experiments_run_beside_each_other_with_their_own_gpus, Site) {
    // Each trial ends only if all three run at the same time.
    std::vector<int> ids;
    for (int i = 0; i < 3; ++i) {
        ids.push_back(
            create("name: shares\n"
                   "entrypoint: 'echo $CUDA_VISIBLE_DEVICES > " +
                   cluster.home().string() +
                   "/gpu-$DET_EXPERIMENT_ID; "
                   "until [ $(ls " +
                   cluster.home().string() +
                   "/gpu-* | wc -l) = 3 ]; do sleep 0.1; done'\n"
                   "searcher: {name: single, metric: loss}\n"
                   "resources: {slots_per_trial: 1}\n"
                   "slurm: {exclusive: false}\n"
                   "max_restarts: 0\n"));
    }
    for (auto const id : ids) BOOST_TEST(state_after(id) == "COMPLETED");
    BOOST_TEST(has_options(script(ids[0]), {"--gres=gpu:1", "--mem=1000M"}) == "");
    std::set<std::string> gpus;
    for (auto const id : ids) gpus.insert(must(read_file(cluster.home() / fmt::format("gpu-{}", id))));
    BOOST_TEST(gpus.size() == 3u);
}

BOOST_FIXTURE_TEST_CASE(a_memory_limit_below_the_memory_of_a_node_is_requested_as_a_number, Site) {
    auto const id = create(
        "name: limited\nentrypoint: 'true'\nsearcher: {name: single, metric: loss}\n"
        "resources: {slots_per_trial: 4, resource_pool: urgent}\nmax_restarts: 0\n");
    BOOST_TEST(state_after(id) == "COMPLETED");
    BOOST_TEST(has_options(script(id), {"--exclusive", "--mem=3000M"}) == "");
    auto const check = cluster.login("researcher", {"det-submit", "site", "check"});
    BOOST_TEST(check.out.find("MaxMemPerNode gives a job 3000 MiB of the 4000 MiB") != std::string::npos,
               check.out);
}

BOOST_FIXTURE_TEST_CASE(more_trials_than_an_array_may_have_tasks_all_run, Site) {
    auto const id = create(
        "name: search\nentrypoint: 'true'\n"
        "searcher: {name: random, metric: loss, max_trials: 5}\n"
        "hyperparameters: {a: {type: int, minval: 0, maxval: 9}}\n"
        "resources: {slots_per_trial: 1}\n"
        "slurm: {exclusive: false}\nmax_restarts: 0\n");
    BOOST_TEST(state_after(id) == "COMPLETED");
    BOOST_TEST(has_options(script(id), {"--array=0-1%2"}) == "");
    auto const trials = ask(fmt::format("experiment list-trials {}", id));
    BOOST_REQUIRE(trials.size() == 5u);
    for (auto const& trial : trials) BOOST_TEST(trial["state"] == "COMPLETED");
}

BOOST_FIXTURE_TEST_CASE(gpus_that_slurm_does_not_know_are_not_requested_and_ranks_have_the_nodes_limits,
                        SiteWithUnknownGpus) {
    must(write_file(cluster.home() / "e.yaml",
                    "name: unknown\nentrypoint: '[ $(ulimit -Sn) != 333 ]'\n"
                    "searcher: {name: single, metric: loss}\n"
                    "resources: {slots_per_trial: 2}\n"
                    "slurm: {launch: rank}\nmax_restarts: 0\n",
                    0644));
    auto const created = nlohmann::json::parse(
        cluster.shell("ulimit -Sn 333; DET_SITE=$HOME/site.yaml det-submit experiment create e.yaml --json"));
    BOOST_TEST(state_after(created["id"]) == "COMPLETED");
    BOOST_TEST(script(created["id"]).find("--gres") == std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
