#include <det/protocol/cluster_info.hpp>
#include <det/protocol/json.hpp>
#include <det/protocol/task_identity.hpp>

#include <boost/test/unit_test.hpp>
#include <map>

#include "check_result.hpp"

using namespace det;

namespace task_identity_test {

using Map = std::map<std::string, std::string, std::less<>>;

Map task_five() {
    return {{"SLURM_JOB_ID", "123"},
            {"SLURM_STEP_ID", "0"},
            {"SLURM_PROCID", "5"},
            {"SLURM_LOCALID", "1"},
            {"SLURM_NODEID", "1"},
            {"SLURM_STEP_NUM_TASKS", "7"},
            {"SLURM_STEP_NUM_NODES", "2"},
            {"SLURM_STEP_NODELIST", "n[0-1]"},
            {"SLURM_STEP_TASKS_PER_NODE", "4,3"}};
}

Result<TaskIdentity> identify(Map const& variables) {
    return identify_task([&](std::string_view name) -> std::optional<std::string> {
        auto const found = variables.find(name);
        if (found == variables.end()) return std::nullopt;
        return found->second;
    });
}

}  // namespace task_identity_test

BOOST_AUTO_TEST_SUITE(task_identity_test)

BOOST_AUTO_TEST_CASE(a_task_reads_its_position_and_its_peers) {
    auto const task = must(identify(task_five()));
    BOOST_TEST(task.rank == 5);
    BOOST_TEST(task.size == 7);
    BOOST_TEST(task.local_rank == 1);
    BOOST_TEST(task.local_size == 3);
    BOOST_TEST(task.cross_rank == 1);
    BOOST_TEST(task.cross_size == 2);
    BOOST_TEST(task.chief_host == "n0");
    BOOST_TEST(task_key(task) == "123.0.5");
}

BOOST_AUTO_TEST_CASE(the_chief_is_where_rank_0_is_and_not_on_the_first_node_of_the_list) {
    auto variables = task_five();
    variables["DET_STEP_CHIEF"] = "123.0 n1";
    auto const task = must(identify(variables));
    BOOST_TEST(task.chief_host == "n1");
    BOOST_TEST(task.hosts == "n[1,0]");
    BOOST_TEST(task.tasks_per_node == "3,4");
    BOOST_TEST(task.cross_rank == 0);
    BOOST_TEST(task.local_size == 3);
    auto on_n0 = variables;
    on_n0["SLURM_NODEID"] = "0";
    BOOST_TEST(must(identify(on_n0)).cross_rank == 1);
    BOOST_TEST(must(identify(on_n0)).local_size == 4);
    variables["DET_STEP_CHIEF"] = "123.1 n1";  // inherited from another step
    BOOST_TEST(must(identify(variables)).chief_host == "n0");
}

BOOST_AUTO_TEST_CASE(the_ranks_variables_are_those_of_torch_and_determined) {
    std::string shown;
    for (auto const& [name, value] : rank_variables(must(identify(task_five()))))
        shown += name + "=" + value + " ";
    BOOST_TEST(shown ==
               "RANK=5 WORLD_SIZE=7 LOCAL_RANK=1 LOCAL_WORLD_SIZE=3 LOCAL_SIZE=3 CROSS_RANK=1 CROSS_SIZE=2 "
               "GROUP_RANK=1 GROUP_WORLD_SIZE=2 MASTER_ADDR=n0 ");
}

BOOST_AUTO_TEST_CASE(outside_of_a_step_the_missing_variable_is_named) {
    auto variables = task_five();
    for (auto const& [name, value] : task_five()) {
        variables.erase(name);
        auto const error = must_fail(identify(variables));
        BOOST_TEST(error.message.find(name) != std::string::npos, error.message);
        variables.emplace(name, value);
    }
}

BOOST_AUTO_TEST_CASE(variables_that_contradict_each_other_are_refused) {
    for (auto const& [name, value] : Map{{"SLURM_PROCID", "7"},
                                         {"SLURM_PROCID", "-1"},
                                         {"SLURM_LOCALID", "3"},
                                         {"SLURM_NODEID", "2"},
                                         {"SLURM_STEP_NUM_NODES", "3"},
                                         {"SLURM_STEP_TASKS_PER_NODE", "garbage"},
                                         {"SLURM_STEP_NODELIST", "n[0"}}) {
        auto variables = task_five();
        variables[name] = value;
        BOOST_TEST(!identify(variables).has_value(), name << "=" << value);
    }
}

BOOST_AUTO_TEST_CASE(global_ranks_count_the_slots_of_the_nodes_before) {
    RendezvousInfo const uneven{"n[0-2]", "2,4,2", 2};
    BOOST_TEST(must(global_rank(uneven, 1)).value == 7);
    BOOST_TEST(!global_rank(uneven, 2).has_value());
    BOOST_TEST(!global_rank({"n0", "1", 1}, 0).has_value());
}

BOOST_AUTO_TEST_CASE(the_info_files_have_determineds_keys_and_are_read_back) {
    RendezvousInfo const rendezvous{"n[0-1]", "4(x2)", 1};
    auto const text = must(render_rendezvous_info(rendezvous));
    auto const json = parse_json(text);
    BOOST_TEST((json.at("container_addrs") == Json{"n0", "n1"}));
    BOOST_TEST((json.at("container_slot_counts") == Json{4, 4}));
    BOOST_TEST(json.at("container_rank") == 1);
    BOOST_TEST((must(parse_rendezvous_info(text)) == rendezvous));

    ClusterInfo const cluster{"", "loopback", "n1", {0, 1, 2, 3}, "7.3", "7.3.2", "", "TRIAL", "some-uuid"};
    BOOST_TEST((must(parse_cluster_info(render_cluster_info(cluster))) == cluster));
    TrialInfo const trial{{{7}, 3}, 2, 99, Json{{"lr", 0.1}}, Json{{"name", "x"}}, 500, true, "eth0"};
    BOOST_TEST((must(parse_trial_info(render_trial_info(trial))) == trial));
    BOOST_TEST(parse_json(render_trial_info(trial)).at("trial_id") == 7'000'003);
    ResourcesInfo const resources{{"GPU-1"}};
    BOOST_TEST((must(parse_resources_info(render_resources_info(resources))) == resources));
    BOOST_TEST((must_fail(parse_cluster_info("[]")).code == codes::damaged));
}

BOOST_AUTO_TEST_SUITE_END()
