#include <boost/test/unit_test.hpp>
#include <cstdlib>

#include "check_result.hpp"
#include "fake_spank.hpp"
#include "hooks.hpp"

using namespace det;
using namespace det::spank;

namespace task_init_test {

constexpr char wrapper[] = "/opt/det/bin/det-wrap-rank";
constexpr char wrapper_as_called[] = "/opt/det/bin/./det-wrap-rank";

struct Fixture {
    FakeSpank& slurm = fake_spank();
    Fixture() {
        slurm = {};
        slurm.environment = {{"DET_SPANK", "auto"},
                             {"DET_LAUNCH", "rank"},
                             {"SLURM_JOB_ID", "123"},
                             {"SLURM_STEP_ID", "0"},
                             {"SLURM_PROCID", "5"},
                             {"SLURM_LOCALID", "1"},
                             {"SLURM_NODEID", "1"},
                             {"SLURM_STEP_NUM_TASKS", "8"},
                             {"SLURM_STEP_NUM_NODES", "2"},
                             {"SLURM_STEP_NODELIST", "n[0-1]"},
                             {"SLURM_STEP_TASKS_PER_NODE", "4(x2)"}};
        slurm.argv = {"./train", "--lr", "0.1"};
    }
    ~Fixture() {
        if (!slurm.argv_pointers.empty() && slurm.argv_pointers[0] != slurm.argv[0].data()) {
            std::free(slurm.argv_pointers[0]);
        }
    }
    Status task_init() const { return on_task_init(SpankHandle(nullptr), Settings{wrapper}); }
    std::string first_word() const { return slurm.argv_pointers.empty() ? "" : slurm.argv_pointers[0]; }
};

}  // namespace task_init_test

BOOST_FIXTURE_TEST_SUITE(task_init_test, Fixture)

BOOST_AUTO_TEST_CASE(a_task_gets_its_variables_and_the_wrapper) {
    must(task_init());
    BOOST_TEST(slurm.environment["RANK"] == "5");
    BOOST_TEST(slurm.environment["WORLD_SIZE"] == "8");
    BOOST_TEST(slurm.environment["MASTER_ADDR"] == "n0");
    BOOST_TEST(slurm.environment["DET_SPANK_COMMAND"] == "./train");
    BOOST_TEST(first_word() == wrapper_as_called);
    BOOST_TEST(std::string(slurm.argv_pointers[1]) == "--lr");
    BOOST_TEST(slurm.environment["DET_RUN_KEY"] == "123.0-0");
    BOOST_TEST(slurm.environment["DET_SLOT_COUNTS"] == "4(x2)");
}

BOOST_AUTO_TEST_CASE(a_batch_script_of_a_job_with_the_option_learns_its_output_files) {
    slurm.step_id = 0xfffffffb;
    must(task_init());
    BOOST_TEST(!slurm.environment.contains("DET_JOB_OUTPUT"));
    slurm.options = {{"det", std::nullopt}};
    must(task_init());
    BOOST_TEST(slurm.environment["DET_JOB_OUTPUT"].starts_with("123 "));
    BOOST_TEST(!slurm.environment.contains("RANK"));
}

BOOST_AUTO_TEST_CASE(a_batch_script_that_is_to_be_requeued_runs_under_det_launch) {
    slurm.environment.erase("DET_SPANK");
    slurm.argv = {"/var/spool/slurm_script", "--lr", "0.1"};
    slurm.options = {{"det-requeue", std::nullopt}};
    must(task_init());  // a step is not touched: the option does not enable the plugin
    BOOST_TEST(first_word() == "");
    BOOST_TEST(!slurm.environment.contains("RANK"));
    slurm.step_id = 0xfffffffb;
    must(task_init());
    BOOST_TEST(first_word() == "/opt/det/bin/./det-launch");
    BOOST_TEST(slurm.environment["DET_SPANK_COMMAND"] == "/var/spool/slurm_script");
    BOOST_TEST(!slurm.environment.contains("DET_JOB_OUTPUT"));
}

BOOST_AUTO_TEST_CASE(requeueing_needs_the_wrappers_directory_and_an_active_partition) {
    slurm.step_id = 0xfffffffb;
    slurm.options = {{"det-requeue", "(null)"}};
    auto const no_wrapper = must_fail(on_task_init(SpankHandle(nullptr), Settings{}));
    BOOST_TEST(no_wrapper.message.find("names no wrapper") != std::string::npos);
    slurm.environment["SLURM_JOB_PARTITION"] = "cpu";
    Settings settings{wrapper};
    settings.partitions = {"gpu"};
    auto const inactive = must_fail(on_task_init(SpankHandle(nullptr), settings));
    BOOST_TEST(inactive.message.find("off in partition 'cpu'") != std::string::npos);
    settings.partitions = {"gpu", "cpu"};
    must(on_task_init(SpankHandle(nullptr), settings));
    BOOST_TEST(first_word() == "/opt/det/bin/./det-launch");
}

BOOST_AUTO_TEST_CASE(with_a_launcher_no_rank_variables_are_set) {
    slurm.environment["DET_LAUNCH"] = "node";
    must(task_init());
    BOOST_TEST(!slurm.environment.contains("RANK"));
    BOOST_TEST(first_word() == wrapper_as_called);
}

BOOST_AUTO_TEST_CASE(jobs_that_do_not_ask_are_not_touched) {
    auto const before = slurm.environment;
    for (auto const* wish : {"off", "", "AUTO"}) {
        slurm.environment["DET_SPANK"] = wish;
        must(task_init());
        BOOST_TEST(!slurm.environment.contains("RANK"));
    }
    slurm.environment.erase("DET_SPANK");
    must(task_init());
    BOOST_TEST(first_word() == "");
}

BOOST_AUTO_TEST_CASE(a_rank_that_the_script_has_set_stays) {
    slurm.environment["RANK"] = "9";
    slurm.options = {{"det", std::nullopt}};
    must(task_init());
    BOOST_TEST(slurm.environment["RANK"] == "9");
    BOOST_TEST(slurm.environment["WORLD_SIZE"] == "8");
}

BOOST_AUTO_TEST_CASE(with_det_env_all_rank_variables_are_set) {
    slurm.environment["RANK"] = "9";
    slurm.options = {{"det", "env"}};
    must(task_init());
    BOOST_TEST(slurm.environment["RANK"] == "5");
}

BOOST_AUTO_TEST_CASE(what_srun_has_chosen_stays_where_it_has_emptied_inherited_variables) {
    slurm.options = {{"det", std::nullopt}};
    for (auto const* name : {"DET_RUN_KEY", "DET_WRAPPED", "DET_LAUNCH", "RANK"})
        slurm.environment[name] = "";
    slurm.environment["DET_LABELS"] = "none";
    slurm.environment["MASTER_PORT"] = "4242";
    must(task_init());
    BOOST_TEST(!slurm.environment.contains("DET_WRAPPED"));
    BOOST_TEST(slurm.environment["DET_RUN_KEY"] == "123.0-0");
    BOOST_TEST(slurm.environment["RANK"] == "5");
    BOOST_TEST(slurm.environment["DET_LABELS"] == "none");
    BOOST_TEST(slurm.environment["MASTER_PORT"] == "4242");
}

BOOST_AUTO_TEST_CASE(batch_interactive_and_extern_steps_are_not_touched) {
    for (unsigned const step : {0xfffffffbU, 0xfffffffaU, 0xfffffffcU, 0xfffffff0U}) {
        slurm.step_id = step;
        must(task_init());
        BOOST_TEST(!slurm.environment.contains("RANK"));
    }
}

BOOST_AUTO_TEST_CASE(a_variable_longer_than_any_buffer_is_read_whole) {
    std::string hosts = "n0";
    for (int node = 1; node < 10'000; ++node) hosts += ",host-with-a-long-name-" + std::to_string(node);
    slurm.environment["SLURM_STEP_NODELIST"] = hosts;
    BOOST_TEST(SpankHandle(nullptr).find_variable("SLURM_STEP_NODELIST").value() == hosts);
    slurm.environment["LARGE"] = std::string((1 << 20) + 1, 'x');
    BOOST_TEST(!SpankHandle(nullptr).find_variable("LARGE").has_value());
}

BOOST_AUTO_TEST_CASE(garbage_in_the_environment_is_an_error_not_a_crash) {
    for (auto const& [name, value] : std::map<std::string, std::string>{{"SLURM_PROCID", "x"},
                                                                        {"SLURM_STEP_TASKS_PER_NODE", "4(x"},
                                                                        {"SLURM_STEP_NODELIST", "n["},
                                                                        {"SLURM_NODEID", "99"}}) {
        auto const before = std::exchange(slurm.environment[name], value);
        BOOST_TEST(!task_init().has_value(), name);
        slurm.environment[name] = before;
    }
}

BOOST_AUTO_TEST_CASE(options_enable_and_disable_the_plugin) {
    slurm.environment.erase("DET_SPANK");
    slurm.environment.erase("DET_LAUNCH");
    slurm.environment["MASTER_PORT"] = "4242";
    slurm.options = {{"det", std::nullopt}};
    must(task_init());
    BOOST_TEST(slurm.environment["RANK"] == "5");
    BOOST_TEST(slurm.environment["DET_SPANK"] == "auto");
    BOOST_TEST(slurm.environment["MASTER_PORT"] == "4242");  // chosen by srun
    BOOST_TEST(first_word() == wrapper_as_called);

    slurm.environment.erase("RANK");
    slurm.options = {{"det", "off"}, {"det-log", "x"}};
    must(task_init());
    BOOST_TEST(!slurm.environment.contains("RANK"));
}

BOOST_AUTO_TEST_CASE(with_det_launch_node_a_launcher_gets_the_variables_of_its_node) {
    slurm.environment.erase("DET_LAUNCH");
    slurm.environment["CUDA_VISIBLE_DEVICES"] = "2,3";
    slurm.options = {{"det-launch", "node"}};
    must(task_init());
    BOOST_TEST(!slurm.environment.contains("RANK"));
    BOOST_TEST(!slurm.environment.contains("MASTER_PORT"));
    BOOST_TEST(slurm.environment["DET_LAUNCH"] == "node");
    BOOST_TEST(slurm.environment["DET_SLOT_IDS"] == "[2, 3]");
    BOOST_TEST(slurm.environment["DET_SLOT_TYPE"] == "cuda");
}

BOOST_AUTO_TEST_CASE(without_the_wrapper_the_command_stays_as_it_is) {
    slurm.options = {{"det", "on"}, {"det-wrap", "off"}};
    must(task_init());
    BOOST_TEST(slurm.environment["RANK"] == "5");
    BOOST_TEST(first_word() == "");
    slurm.options.erase("det-wrap");
    must(on_task_init(SpankHandle(nullptr), Settings{wrapper, Wrap::off, {}}));
    BOOST_TEST(first_word() == "");
    must(on_task_init(SpankHandle(nullptr), Settings{}));
    BOOST_TEST(first_word() == "");
    slurm.options["det-wrap"] = "rank";  // this site has no wrapper
    BOOST_TEST(!on_task_init(SpankHandle(nullptr), Settings{}).has_value());
}

BOOST_AUTO_TEST_CASE(a_log_is_named_by_job_and_node) {
    slurm.options = {{"det-log", "logs/%j.%s.log"}};
    must(task_init());
    BOOST_TEST(slurm.environment["DET_RANK_LOG"] == "logs/123.0-1.log");
    auto const task =
        must(identify_task([&](std::string_view name) { return SpankHandle(nullptr).find_variable(name); }));
    BOOST_TEST(expand_log_path("a%N.%%x", task, "n7") == "an7.%x");
    BOOST_TEST(expand_log_path("a.b/%q", task, "n7") == "a.b/%q-1");
    BOOST_TEST(expand_log_path("/x/%n%", task, "n7") == "/x/1%");
}

BOOST_AUTO_TEST_CASE(the_plugin_is_active_in_named_partitions_only) {
    Settings const settings{wrapper, Wrap::rank, {"gpu", "long"}};
    slurm.environment["SLURM_JOB_PARTITION"] = "gpu";
    must(on_task_init(SpankHandle(nullptr), settings));
    BOOST_TEST(slurm.environment.contains("RANK"));
    slurm.environment.erase("RANK");
    slurm.environment["SLURM_JOB_PARTITION"] = "debug";
    must(on_task_init(SpankHandle(nullptr), settings));
    BOOST_TEST(!slurm.environment.contains("RANK"));
    slurm.options = {{"det", "on"}};  // an explicit option is an error
    BOOST_TEST(must_fail(on_task_init(SpankHandle(nullptr), settings)).message.find("'debug'") !=
               std::string::npos);
}

BOOST_AUTO_TEST_CASE(variables_inherited_from_another_jobs_run_do_not_enable_the_plugin) {
    slurm.environment["DET_RUN_KEY"] = "7.0.0-99_0-0";
    slurm.environment["DET_RUN_JOB"] = "99";
    slurm.environment["DET_RUN_PATH"] = "/root/experiments/7/trials/0/runs/0";
    slurm.environment["DET_RANK_LOG"] = "/root/experiments/7/trials/0/runs/0/node-0.log";
    slurm.environment["MASTER_PORT"] = "4242";
    must(task_init());
    BOOST_TEST(!slurm.environment.contains("RANK"));
    slurm.options = {{"det", "on"}};
    must(task_init());
    BOOST_TEST(slurm.environment["DET_RUN_KEY"] == "123.0-0");
    BOOST_TEST(!slurm.environment.contains("DET_RUN_PATH"));  // nothing is written into the other run
    BOOST_TEST(!slurm.environment.contains("DET_RANK_LOG"));
    BOOST_TEST(slurm.environment["MASTER_PORT"] != "4242");
}

BOOST_AUTO_TEST_CASE(in_a_supervisors_run_only_rank_variables_are_set) {
    slurm.environment["DET_RUN_KEY"] = "7.0.0-123_0-0";
    slurm.environment["DET_RUN_JOB"] = "123";
    slurm.environment["MASTER_PORT"] = "4242";
    must(task_init());
    BOOST_TEST(slurm.environment["RANK"] == "5");
    BOOST_TEST(slurm.environment["DET_RUN_KEY"] == "7.0.0-123_0-0");
    BOOST_TEST(slurm.environment["MASTER_PORT"] == "4242");
    BOOST_TEST(!slurm.environment.contains("DET_TASK_TYPE"));
}

BOOST_AUTO_TEST_CASE(plugstack_arguments_are_checked) {
    BOOST_TEST(must(parse_settings({"wrapper=/x/y"})).wrapper == "/x/y");
    BOOST_TEST(must(parse_settings({})).wrapper == "");
    auto const all = must(parse_settings({"wrapper=/x", "wrap=off", "partitions=a,b"}));
    BOOST_TEST((all.wrap == Wrap::off));
    BOOST_TEST(all.is_active_in("b"));
    BOOST_TEST(!all.is_active_in("c"));
    for (auto const* invalid_option :
         {"wrapper=relative", "wraper=/x", "wrap=on", "wrap", "partitions=a,,b", "=", ""}) {
        BOOST_TEST(!parse_settings({invalid_option}).has_value(), invalid_option);
    }
}

BOOST_AUTO_TEST_CASE(values_of_options_are_checked_alone_and_together) {
    for (auto const* value : {"", "on", "off", "(null)"})
        BOOST_TEST(check_option(Option::det, value).has_value());
    for (auto const* value : {"yes", "ON", "1"}) BOOST_TEST(!check_option(Option::det, value).has_value());
    BOOST_TEST(!check_option(Option::wrap, "node").has_value());
    BOOST_TEST(!check_option(Option::launch, "").has_value());
    BOOST_TEST(!check_option(Option::log, "dir/").has_value());
    BOOST_TEST(!parse_options({std::nullopt, "off", "x.log", std::nullopt}).has_value());
    BOOST_TEST(!parse_options({}).value_or(PluginOptions{true, {}, {}, {}}).enabled.has_value());
}

BOOST_AUTO_TEST_SUITE_END()
