#include "on_node.hpp"

#include <boost/test/unit_test.hpp>
#include <cstdlib>

#include "check_result.hpp"
#include "fake_spank.hpp"

using namespace det;
using namespace det::spank;

namespace {

constexpr char wrapper[] = "/opt/det/bin/det-wrap-rank";

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
    Status task_init() const { return on_task_init(Host(nullptr), Settings{wrapper}); }
    std::string first_word() const { return slurm.argv_pointers.empty() ? "" : slurm.argv_pointers[0]; }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(on_node_test, Fixture)

BOOST_AUTO_TEST_CASE(a_task_is_told_who_it_is_and_gets_the_wrapper_in_front) {
    must(task_init());
    BOOST_TEST(slurm.environment["RANK"] == "5");
    BOOST_TEST(slurm.environment["WORLD_SIZE"] == "8");
    BOOST_TEST(slurm.environment["MASTER_ADDR"] == "n0");
    BOOST_TEST(slurm.environment["DET_SPANK_COMMAND"] == "./train");
    BOOST_TEST(first_word() == wrapper);
    BOOST_TEST(std::string(slurm.argv_pointers[1]) == "--lr");
}

BOOST_AUTO_TEST_CASE(a_launcher_gives_its_ranks_their_variables_itself) {
    slurm.environment["DET_LAUNCH"] = "node";
    must(task_init());
    BOOST_TEST(!slurm.environment.contains("RANK"));
    BOOST_TEST(first_word() == wrapper);
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
    BOOST_TEST(Host(nullptr).find_variable("SLURM_STEP_NODELIST").value() == hosts);
    slurm.environment["LARGE"] = std::string((1 << 20) + 1, 'x');
    BOOST_TEST(!Host(nullptr).find_variable("LARGE").has_value());
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
    slurm.fails = true;
    BOOST_TEST(task_init().has_value());  // SPANK says nothing at all: not ours
}

BOOST_AUTO_TEST_CASE(plugstack_arguments_are_checked) {
    BOOST_TEST(must(parse_settings({"wrapper=/x/y"})).wrapper == "/x/y");
    BOOST_TEST(must(parse_settings({})).wrapper == "");
    BOOST_TEST(!parse_settings({"wrapper=relative"}).has_value());
    BOOST_TEST(!parse_settings({"wraper=/x"}).has_value());
}

BOOST_AUTO_TEST_SUITE_END()
