#include <det/protocol/step_run.hpp>

#include <boost/test/unit_test.hpp>
#include <map>
#include <set>

#include "check_result.hpp"
#include "golden.hpp"

using namespace det;

namespace step_run_test {

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
            {"SLURM_STEP_TASKS_PER_NODE", "4,3"},
            {"SLURM_CLUSTER_NAME", "loopback"},
            {"SLURMD_NODENAME", "n1"},
            {"SLURM_JOB_USER", "researcher"}};
}

VariableLookup look_in(Map const& variables) {
    return [&variables](std::string_view name) -> std::optional<std::string> {
        auto const found = variables.find(name);
        if (found == variables.end()) return std::nullopt;
        return found->second;
    };
}

Map told(Map const& variables, Launch launch, RankVariables which = RankVariables::missing) {
    Map all;
    for (auto const& [name, value] :
         step_run_variables(must(identify_task(look_in(variables))), launch, look_in(variables), which))
        all[name] = value;
    return all;
}

std::string shown(Map const& variables) {
    std::string text;
    for (auto const& [name, value] : variables) text += name + "=" + value + "\n";
    return text;
}

}  // namespace step_run_test

BOOST_AUTO_TEST_SUITE(step_run_test)

BOOST_AUTO_TEST_CASE(a_step_of_a_script_gets_the_variables_of_a_run) {
    check_golden("step_variables.txt", shown(told(task_five(), Launch::rank)));
    auto node = task_five();
    node["CUDA_VISIBLE_DEVICES"] = "4,5";
    auto const launcher = told(node, Launch::node);
    BOOST_TEST(!launcher.contains("RANK"));
    BOOST_TEST(!launcher.contains("MASTER_PORT"));
    BOOST_TEST(launcher.at("DET_SLOT_IDS") == "[4, 5]");
    BOOST_TEST(launcher.at("DET_SLOT_COUNTS") == "2(x2)");
}

BOOST_AUTO_TEST_CASE(the_kind_of_a_step_follows_from_its_variables) {
    auto variables = task_five();
    auto const task = must(identify_task(look_in(variables)));
    auto const kind = [&] { return find_step_kind(task, look_in(variables)); };
    BOOST_TEST((kind() == StepKind::foreign));
    variables["DET_SPANK"] = "auto";
    BOOST_TEST((kind() == StepKind::own_run));
    for (auto const& [name, value] : told(variables, Launch::rank)) variables[name] = value;
    BOOST_TEST((kind() == StepKind::own_run));  // a second call finds the same
    variables["DET_RUN_KEY"] = "7.0.0-123_0-0";
    BOOST_TEST((kind() == StepKind::part_of_run));
    variables["DET_RUN_JOB"] = "99";
    BOOST_TEST((kind() == StepKind::foreign));
}

BOOST_AUTO_TEST_CASE(a_step_that_has_the_variables_already_gets_the_same_again) {
    auto variables = task_five();
    auto const once = told(variables, Launch::rank);
    for (auto const& [name, value] : once) variables[name] = value;
    for (auto const which : {RankVariables::missing, RankVariables::all}) {
        auto twice = variables;
        for (auto const& [name, value] : told(variables, Launch::rank, which)) twice[name] = value;
        BOOST_TEST(shown(twice) == shown(variables));
    }
}

BOOST_AUTO_TEST_CASE(variables_that_a_script_has_set_stay) {
    auto variables = task_five();
    auto const usual = told(variables, Launch::rank);
    variables["MASTER_ADDR"] = "n1-ib0";
    variables["MASTER_PORT"] = "4242";
    auto const missing = told(variables, Launch::rank);
    BOOST_TEST(!missing.contains("MASTER_ADDR"));
    BOOST_TEST(!missing.contains("MASTER_PORT"));
    BOOST_TEST(missing.at("RANK") == "5");
    BOOST_TEST(missing.size() == usual.size() - 2);
    auto const all = told(variables, Launch::rank, RankVariables::all);
    BOOST_TEST(all.at("MASTER_ADDR") == "n0");
    BOOST_TEST(!all.contains("MASTER_PORT"));
}

BOOST_AUTO_TEST_CASE(submitit_exports_the_variables_of_torch_itself) {
    auto variables = task_five();
    auto const usual = told(variables, Launch::rank);
    variables["SUBMITIT_EXECUTOR"] = "slurm";
    auto const missing = told(variables, Launch::rank);
    for (auto const* name :
         {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"})
        BOOST_TEST(!missing.contains(name), name);
    BOOST_TEST(missing.size() == usual.size() - 6);
    BOOST_TEST(shown(told(variables, Launch::rank, RankVariables::all)) == shown(usual));
}

BOOST_AUTO_TEST_CASE(slots_have_the_numbers_of_the_visible_devices) {
    auto const slots = [](std::string const& visible, int count) {
        Map const variables{{"CUDA_VISIBLE_DEVICES", visible}};
        return render_slot_ids_json(local_slots(look_in(variables), count));
    };
    BOOST_TEST(slots("2,3", 2) == "[2, 3]");
    BOOST_TEST(slots("2,3", 0) == "[2, 3]");
    BOOST_TEST(slots("3", 4) == "[0, 1, 2, 3]");  // each task of the node sees only its own device
    BOOST_TEST(slots("GPU-1,GPU-2", 0) == "[0, 1]");
    BOOST_TEST(slots("NoDevFiles", 0) == "[0]");
    BOOST_TEST(slots("", 3) == "[0, 1, 2]");
    BOOST_TEST(render_slot_ids_json(local_slots(look_in({}), 0)) == "[0]");
    Map const intel{{"ZE_AFFINITY_MASK", "2,3"}}, parts_of_intel{{"ZE_AFFINITY_MASK", "0.0,0.1"}};
    BOOST_TEST(render_slot_ids_json(local_slots(look_in(intel), 2)) == "[2, 3]");
    BOOST_TEST(render_slot_ids_json(local_slots(look_in(parts_of_intel), 0)) == "[0, 1]");
}

BOOST_AUTO_TEST_CASE(ports_differ_between_steps_and_attempts_and_stay_in_their_range) {
    std::set<std::uint16_t> of_attempts, of_steps;
    for (unsigned i = 0; i < 9000; ++i) of_attempts.insert(master_port("123.0-0", i));
    BOOST_TEST(of_attempts.size() == 9000u);
    BOOST_TEST(*of_attempts.begin() == 20'000);
    BOOST_TEST(*of_attempts.rbegin() == 28'999);
    for (int step = 0; step < 100; ++step)
        of_steps.insert(master_port(step_run_key("123", std::to_string(step), ""), 0));
    BOOST_TEST(of_steps.size() > 90u);
    BOOST_TEST(step_run_key("1", "2", "") == "1.2-0");
}

BOOST_AUTO_TEST_CASE(a_program_recognises_that_it_was_prepended) {
    BOOST_TEST(wrapper_argv0("/opt/det/bin/det-wrap-rank") == "/opt/det/bin/./det-wrap-rank");
    BOOST_TEST(is_wrapper_argv0("/opt/det/bin/./det-wrap-rank"));
    for (auto const* name : {"/opt/det/bin/det-wrap-rank", "det-wrap-rank", "", "/x"})
        BOOST_TEST(!is_wrapper_argv0(name));
}

BOOST_AUTO_TEST_CASE(each_rank_has_its_own_mig_instance) {
    std::string const two = "MIG-5ba4-1,MIG-5ba4-2";
    BOOST_TEST(own_mig_instance(two, 0).value() == "MIG-5ba4-1");
    BOOST_TEST(own_mig_instance(two, 1).value() == "MIG-5ba4-2");
    BOOST_TEST(!own_mig_instance(two, 2));
    BOOST_TEST(!own_mig_instance(two, -1));
    BOOST_TEST(!own_mig_instance("MIG-5ba4-1", 0));   // the task sees its own already
    BOOST_TEST(!own_mig_instance("GPU-1,GPU-2", 1));  // whole GPUs reach each other's memory
    BOOST_TEST(!own_mig_instance("0,1", 1));
    BOOST_TEST(!own_mig_instance("", 0));
}

BOOST_AUTO_TEST_SUITE_END()
