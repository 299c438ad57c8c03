// Pools from a site file and a live cluster.
#include <det/site/pool_use.hpp>
#include <det/site/site.hpp>
#include <det/slurm/cluster_config.hpp>

#include <boost/test/unit_test.hpp>

#include "site_support.hpp"

using namespace det;
using namespace det::site;

namespace site_test {

slurm::Node node(std::string name, std::string state, int cpus_used, std::string gres_used) {
    return {std::move(name), "compute", std::move(state), 8, cpus_used, "gpu:4", std::move(gres_used)};
}

int node_count(Pool const& pool) {
    int count = 0;
    for (auto const& kind : pool.kinds) count += kind.count;
    return count;
}

int slot_count(Pool const& pool) {
    int count = 0;
    for (auto const& kind : pool.kinds) count += kind.count * kind.slots_per_node;
    return count;
}

}  // namespace site_test

BOOST_AUTO_TEST_SUITE(site_test)

BOOST_AUTO_TEST_CASE(every_partition_with_nodes_is_a_pool) {
    auto partitions = two_partitions();
    partitions.push_back({"empty", false, true, "OFF", {}, {}});
    auto const site = make_site(partitions);
    BOOST_REQUIRE(site.pools.size() == 2u);
    BOOST_TEST(site.default_pools.compute == "compute");
    BOOST_TEST(site.default_pools.aux == "compute");
    BOOST_TEST(site.pools[0].slots_per_node == 4);
    BOOST_TEST((site.pools[1].slot_type == SlotType::cpu));
    BOOST_TEST(site.pools[1].slots_per_node == 16);
}

BOOST_AUTO_TEST_CASE(pools_of_the_file_come_first_and_take_the_place_of_partitions) {
    auto const file = file_of(
        "default_compute_pool: fast\ndefault_aux_pool: cpu\n"
        "pools:\n"
        "  - {name: fast, partition: compute, qos: high, slots_per_node: 2}\n"
        "  - {name: cpu, slots_per_node: 4, whole_memory: false}\n");
    auto const site = make_site(two_partitions(), file);
    BOOST_REQUIRE(site.pools.size() == 3u);  // and `compute`, as it is
    BOOST_TEST(site.pools[0].name == "fast");
    BOOST_TEST(site.pools[0].partition == "compute");
    BOOST_TEST(site.pools[0].slots_per_node == 2);
    BOOST_TEST(*site.pools[0].qos == "high");
    BOOST_TEST(site.pools[1].slots_per_node == 4);
    BOOST_TEST(!site.pools[1].has_whole_memory);
    BOOST_TEST(site.default_pools.compute == "fast");
    BOOST_TEST(site.default_pools.aux == "cpu");
    auto const only = make_site(two_partitions(), file_of("pool_per_partition: false\n"
                                                          "pools: [{name: fast, partition: compute}]\n"));
    BOOST_REQUIRE(only.pools.size() == 1u);
    BOOST_TEST(only.default_pools.compute == "fast");  // it lies on the default partition
}

BOOST_AUTO_TEST_CASE(a_pool_of_a_partition_that_is_not_there_has_no_nodes) {
    auto const site = make_site(two_partitions(), file_of("pools: [{name: a, partition: gone}]\n"));
    BOOST_TEST(node_count(site.pools[0]) == 0);
    BOOST_TEST(!site.pools[0].is_up);
}

BOOST_AUTO_TEST_CASE(nodes_are_told_apart_by_their_gpus) {
    slurm::Partition mixed{"mixed",
                           true,
                           true,
                           "OFF",
                           {},
                           {{2, 64, "idle", "gpu:a100:8(S:0-1)", "ib", "a[0-1]"},
                            {1, 64, "drained*", "gpu:a100:8", "ib", "a2"},
                            {4, 32, "mixed", "gpu:v100:4", "(null)", "v[0-3]"},
                            {1, 32, "idle", "(null)", "(null)", "login"}}};
    auto const pool = make_site({mixed}).pools.at(0);
    BOOST_REQUIRE(pool.kinds.size() == 2u);
    BOOST_TEST(pool.kinds[0].gpu_type == "a100");
    BOOST_TEST(pool.kinds[0].count == 3);
    BOOST_TEST(pool.kinds[0].out_count == 1);
    BOOST_TEST(pool.kinds[1].slots_per_node == 4);
    BOOST_TEST(slot_count(pool) == 40);
    BOOST_TEST(pool.slots_per_node == 4);  // of most nodes

    auto const narrow =
        make_site({mixed}, file_of("pools:\n"
                                   "  - {name: a, partition: mixed, gpu_type: a100}\n"
                                   "  - {name: b, partition: mixed, constraint: ib}\n"
                                   "  - {name: c, partition: mixed, slot_type: cpu}\n"
                                   "  - {name: d, partition: mixed, constraint: 'ib&nope'}\n"));
    BOOST_TEST(node_count(narrow.pools[0]) == 3);
    BOOST_TEST(node_count(narrow.pools[1]) == 3);
    BOOST_TEST(node_count(narrow.pools[2]) == 8);
    BOOST_TEST(narrow.pools[2].slots_per_node == 32);
    BOOST_TEST(node_count(narrow.pools[3]) == 0);
}

BOOST_AUTO_TEST_CASE(nodes_with_gpus_of_several_types_are_a_kind_for_each) {
    slurm::Partition mig{"mig", true, true,
                         "OFF", {},   {{2, 64, "idle", "gpu:a100:4,gpu:1g.10gb:28", "", "m[0-1]"}}};
    auto const pool = make_site({mig}).pools.at(0);
    BOOST_REQUIRE(pool.kinds.size() == 2u);
    BOOST_TEST(pool.kinds[0].slots_per_node == 28);
    BOOST_TEST(pool.kinds[1].gpu_type == "a100");
    BOOST_TEST((pool.kinds[0].has_other_types && pool.kinds[1].has_other_types));
    slurm::Node used{"m0",
                     "mig",
                     "mixed",
                     64,
                     8,
                     "gpu:a100:4,gpu:1g.10gb:28",
                     "gpu:a100:1(IDX:0),gpu:1g.10gb:9(IDX:4-6,8-13)"};
    BOOST_TEST(count_use(pool, {used}, {}).slots == 32);
    BOOST_TEST(count_use(pool, {used}, {}).slots_used == 10);
    auto const whole = make_site({mig}, file_of("pools: [{name: mig, gpu_type: a100}]\n")).pools.at(0);
    BOOST_REQUIRE(whole.kinds.size() == 1u);
    BOOST_TEST(count_use(whole, {used}, {}).slots == 4);
    BOOST_TEST(count_use(whole, {used}, {}).slots_used == 1);
}

BOOST_AUTO_TEST_CASE(where_slurm_hides_its_nodes_the_site_file_is_enough) {
    slurm::Partition hidden{"gpu", true, true, "OFF", {}, {{4, 64, "idle", "(null)", "(null)", "n[0-3]"}}};
    hidden.has_node_facts = false;
    auto const pool =
        make_site({hidden}, file_of("pools: [{name: gpu, slot_type: cuda, slots_per_node: 8, gpu_type: "
                                    "a100, constraint: nvlink}]\n"))
            .pools.at(0);
    BOOST_REQUIRE(pool.kinds.size() == 1u);
    BOOST_TEST(pool.kinds[0].count == 4);
    BOOST_TEST(pool.slots_per_node == 8);
    BOOST_TEST(pool.kinds[0].gpu_type == "a100");
    BOOST_TEST(pool.has_gres);
    BOOST_TEST((make_site({hidden}).pools.at(0).slot_type == SlotType::cpu));
}

BOOST_AUTO_TEST_CASE(hidden_nodes_may_have_gpus_that_nothing_tells) {
    slurm::Partition hidden{"gpu", true, true, "OFF", {}, {{4, 64, "idle", "(null)", "(null)", "n[0-3]"}}};
    hidden.has_node_facts = false;
    auto const may_have = [&](slurm::Partition const& partition, std::string const& gres_types,
                              std::string const& tres, std::string const& file) {
        auto site = make_site({partition}, file_of(file));
        apply_cluster_settings(
            site, slurm::ClusterConfig({{"GresTypes", gres_types}, {"AccountingStorageTRES", tres}}),
            std::nullopt);
        return site.pools.at(0).may_have_hidden_gpus;
    };
    BOOST_TEST(may_have(hidden, "gpu", "cpu,mem,node", ""));
    BOOST_TEST(may_have(hidden, "craynetwork,gpu", "", ""));
    BOOST_TEST(!may_have(hidden, "(null)", "cpu,mem,node", ""));
    BOOST_TEST(!may_have(hidden, "gpu", "cpu,mem,node,gres/gpu", ""));  // it would tell them
    BOOST_TEST(!may_have(hidden, "gpu", "cpu,gres/gpu:a100", ""));
    BOOST_TEST(!may_have(hidden, "gpu", "", "pools: [{name: gpu, slot_type: cpu}]\n"));
    BOOST_TEST(!may_have(hidden, "gpu", "", "pools: [{name: gpu, slot_type: cuda, slots_per_node: 4}]\n"));
    BOOST_TEST(may_have(hidden, "gpu", "", "pools: [{name: gpu, description: GPUs}]\n"));
    auto shown = hidden;
    shown.has_node_facts = true;
    BOOST_TEST(!may_have(shown, "gpu", "", ""));
    hidden.nodes[0].gres = "gpu:a100:4";
    auto const pool = make_site({hidden}).pools.at(0);
    BOOST_TEST(!may_have(hidden, "gpu", "gres/gpu", ""));
    BOOST_TEST((pool.slot_type == SlotType::cuda));
    BOOST_TEST(pool.slots_per_node == 4);
    BOOST_TEST(pool.kinds.at(0).gpu_type == "a100");
}

BOOST_AUTO_TEST_CASE(gpus_are_counted_by_type) {
    auto const groups =
        parse_gpu_groups("gres:gpu:a100:4(S:0-1),craynetwork:1,gpu:2,gres/gpu:v100,gpu:a100:1");
    BOOST_REQUIRE(groups.size() == 3u);
    BOOST_TEST((groups[0].type == "a100" && groups[0].count == 5));
    BOOST_TEST((groups[1].type.empty() && groups[1].count == 2));
    BOOST_TEST((groups[2].type == "v100" && groups[2].count == 1));
    BOOST_TEST(parse_gpu_groups("(null)").empty());
    BOOST_TEST(parse_gpu_groups("gpu:a b\n#SBATCH:4").at(0).type.empty());  // must not get into a script
    BOOST_TEST(parse_gpu_groups("gpu:-3").empty());
}

BOOST_AUTO_TEST_CASE(the_types_of_gpus_in_slurm_tell_their_vendor) {
    auto const type_of = [](std::string const& gres) {
        auto partitions = two_partitions();
        for (auto& group : partitions.at(0).nodes) group.gres = gres;
        return make_site(partitions).pools.at(0).slot_type;
    };
    BOOST_TEST((type_of("gpu:mi250x:8") == SlotType::rocm));
    BOOST_TEST((type_of("gpu:pvc:4") == SlotType::xpu));
    BOOST_TEST((type_of("gpu:Intel_Data_Center_GPU_Max_1550:4") == SlotType::xpu));
    BOOST_TEST((type_of("gpu:max1100:2") == SlotType::xpu));
    BOOST_TEST((type_of("gpu:maxwell:2") == SlotType::cuda));
    BOOST_TEST((type_of("gpu:pvc:2,gpu:a100:2") == SlotType::cuda));
    BOOST_TEST((type_of("gpu:4") == SlotType::cuda));
}

BOOST_AUTO_TEST_CASE(a_site_may_know_of_gpus_that_slurm_does_not) {
    auto partitions = two_partitions();
    auto const pool =
        make_site(partitions, file_of("pools: [{name: cpu, slot_type: rocm, slots_per_node: 4}]\n"))
            .pools.at(0);
    BOOST_TEST((pool.slot_type == SlotType::rocm));
    BOOST_TEST(pool.slots_per_node == 4);
    BOOST_TEST(!pool.has_gres);
}

BOOST_AUTO_TEST_CASE(what_is_in_use_is_counted_by_node_and_by_job) {
    auto const pool = make_site(two_partitions()).pools.at(0);
    std::vector<slurm::Node> const nodes{
        node("n0", "idle", 0, "gpu:0"), node("n1", "mixed", 4, "gpu:2(IDX:0-1)"),
        node("n2", "allocated", 8, "gpu:0"),  // whole, without its GPUs
        node("n3", "drained*", 0, "gpu:0"), node("other", "idle", 0, "gpu:0")};
    slurm::JobStatus running, waiting, over;
    running.partition = waiting.partition = over.partition = "cpu,compute";
    running.state = slurm::JobState::running;
    waiting.state = slurm::JobState::pending;
    over.state = slurm::JobState::completed;
    auto const use = count_use(pool, nodes, {running, waiting, waiting, over});
    BOOST_TEST(use.nodes == 4);
    BOOST_TEST(use.nodes_free == 1);
    BOOST_TEST(use.nodes_out == 1);
    BOOST_TEST(use.slots == 16);
    BOOST_TEST(use.slots_used == 6);
    BOOST_TEST(use.slots_out == 4);
    BOOST_TEST(use.jobs_waiting == 2);
    BOOST_TEST(use.jobs_running == 1);
}

BOOST_AUTO_TEST_CASE(a_preempted_trial_has_the_grace_time_of_its_partition_or_kill_wait) {
    slurm::ClusterConfig const by_partition(
        {{"PreemptType", "preempt/partition_prio"}, {"KillWait", "30 sec"}});
    slurm::ClusterConfig const by_qos({{"PreemptType", "preempt/qos"}, {"KillWait", "30 sec"}});
    Pool pool;
    pool.preempt_mode = "REQUEUE";
    BOOST_TEST(!partition_grace_time_s(pool).has_value());
    BOOST_TEST(preemption_notice_s(pool, by_partition).value() == 30u);
    BOOST_TEST(!preemption_notice_s(pool, by_qos).has_value());
    BOOST_TEST(!preemption_notice_s(pool, slurm::ClusterConfig{}).has_value());
    pool.grace_time = std::chrono::seconds(120);
    BOOST_TEST(partition_grace_time_s(pool).value() == 120u);
    BOOST_TEST(preemption_notice_s(pool, by_partition).value() == 120u);
    pool.preempt_mode = "OFF";
    BOOST_TEST(!preemption_notice_s(pool, by_partition).has_value());
}

BOOST_AUTO_TEST_SUITE_END()
