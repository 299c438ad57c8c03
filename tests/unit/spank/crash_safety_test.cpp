// Calls the plugin as Slurm does: by its exported names, with arbitrary input of a job. It must not crash
// slurmstepd.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <random>

extern "C" {
#include <slurm/spank.h>
int slurm_spank_init(spank_t job, int argc, char** argv);
int slurm_spank_local_user_init(spank_t job, int argc, char** argv);
int slurm_spank_task_init(spank_t job, int argc, char** argv);
}

#include "fake_spank.hpp"

namespace crash_safety_test {

constexpr char const* names[] = {"DET_SPANK",
                                 "DET_LAUNCH",
                                 "DET_RUN_KEY",
                                 "DET_RUN_JOB",
                                 "SLURM_JOB_ID",
                                 "SLURM_STEP_ID",
                                 "SLURM_PROCID",
                                 "SLURM_LOCALID",
                                 "SLURM_NODEID",
                                 "SLURM_STEP_NUM_TASKS",
                                 "SLURM_STEP_NUM_NODES",
                                 "SLURM_STEP_NODELIST",
                                 "SLURM_STEP_TASKS_PER_NODE",
                                 "SLURM_JOB_PARTITION",
                                 "SLURM_RESTART_COUNT",
                                 "SLURMD_NODENAME",
                                 "CUDA_VISIBLE_DEVICES",
                                 "ROCR_VISIBLE_DEVICES",
                                 "MASTER_PORT"};

std::map<std::string, std::string> task_of_eight() {
    return {{"DET_SPANK", "auto"},
            {"SLURM_JOB_ID", "123"},
            {"SLURM_STEP_ID", "0"},
            {"SLURM_PROCID", "5"},
            {"SLURM_LOCALID", "1"},
            {"SLURM_NODEID", "1"},
            {"SLURM_STEP_NUM_TASKS", "8"},
            {"SLURM_STEP_NUM_NODES", "2"},
            {"SLURM_STEP_NODELIST", "n[0-1]"},
            {"SLURM_STEP_TASKS_PER_NODE", "4(x2)"}};
}

/// Frees what the plugin hands over to Slurm.
void release_argv() {
    auto& slurm = fake_spank();
    if (slurm.argv_pointers.empty() || slurm.argv.empty()) return;
    if (slurm.argv_pointers[0] != slurm.argv[0].data()) std::free(slurm.argv_pointers[0]);
    slurm.argv_pointers.clear();
}

struct Fixture {
    FakeSpank& slurm = fake_spank();
    Fixture() { reset(); }
    ~Fixture() { release_argv(); }
    Fixture(Fixture const&) = delete;
    Fixture& operator=(Fixture const&) = delete;

    void reset() {
        release_argv();
        slurm = {};
        slurm.environment = task_of_eight();
        slurm.argv = {"./train"};
    }
    /// Checks that each reported error is one line of limited length.
    void check_lines(char const* where) const {
        BOOST_TEST_CONTEXT(where) {
            for (auto const& error : slurm.errors) {
                bool const has_control = std::ranges::any_of(
                    error, [](unsigned char byte) { return byte < 0x20 || byte == 0x7f; });
                BOOST_TEST(!has_control);
                BOOST_TEST(error.find("\xe2\x80\xae") == std::string::npos);  // turns the text around
                BOOST_TEST(error.size() < 2048u);
            }
        }
    }
    /// Calls every hook in every context; each must return success or a negative code.
    void call_all(std::vector<std::string> arguments = {"wrapper=/opt/det/bin/det-wrap-rank"}) {
        std::vector<char*> pointers;
        for (auto& argument : arguments) pointers.push_back(argument.data());
        int const count = static_cast<int>(pointers.size());
        for (slurm.context = 0; slurm.context <= 5; ++slurm.context) {
            for (auto const hook : {slurm_spank_init, slurm_spank_local_user_init, slurm_spank_task_init}) {
                release_argv();
                BOOST_TEST(hook(nullptr, count, pointers.data()) <= 0);
            }
        }
        BOOST_TEST(slurm_spank_init(nullptr, count, pointers.data()) == 0);  // anything else drains nodes
    }
};

std::string random_text(std::mt19937& random) {
    static std::vector<std::string> const bits{"[",
                                               "]",
                                               "-",
                                               ",",
                                               "(x",
                                               ")",
                                               "0",
                                               "4",
                                               "99999999999999999999",
                                               "n[0-1]",
                                               "4(x2)",
                                               "2147483647",
                                               "=",
                                               "%",
                                               " ",
                                               "auto",
                                               "rank",
                                               "node",
                                               "\xff\xfe",
                                               "\n",
                                               "GPU-1",
                                               "n[0-999999]",
                                               std::string(5000, 'x')};
    std::string text;
    for (auto count = random() % 5; count > 0; --count) text += bits[random() % bits.size()];
    return text;
}

}  // namespace crash_safety_test

BOOST_FIXTURE_TEST_SUITE(crash_safety_test, Fixture)

BOOST_AUTO_TEST_CASE(each_call_of_spank_may_fail) {
    slurm.context = 2;
    BOOST_TEST(slurm_spank_task_init(nullptr, 0, nullptr) == 0);
    int const calls = slurm.calls;
    BOOST_TEST(calls > 20);
    for (int call = 0; call < 3 * calls; ++call) {
        reset();
        slurm.failing_call = call;
        call_all();
    }
    reset();
    slurm.fails = true;
    call_all();
}

BOOST_AUTO_TEST_CASE(any_variable_may_be_absent_or_garbage) {
    std::mt19937 random(20261121);
    for (int round = 0; round < 2000; ++round) {
        reset();
        for (auto changes = random() % 4 + 1; changes > 0; --changes) {
            auto const* const name = names[random() % std::size(names)];
            if (random() % 4 == 0) {
                slurm.environment.erase(name);
            } else {
                slurm.environment[name] = random_text(random);
            }
        }
        for (auto const* option : {"det", "det-wrap", "det-log", "det-launch", "det-requeue"}) {
            if (random() % 6 == 0) slurm.options[option] = random_text(random);
            if (random() % 12 == 0) slurm.options[option] = std::nullopt;
        }
        call_all();
    }
}

BOOST_AUTO_TEST_CASE(ten_thousand_nodes_take_no_memory) {
    std::string hosts = "first";
    for (int node = 1; node < 10'000; ++node) hosts += ",a-host-of-its-own-" + std::to_string(node * 7);
    slurm.environment["SLURM_STEP_NODELIST"] = hosts;
    slurm.environment["SLURM_STEP_NUM_NODES"] = "10000";
    slurm.environment["SLURM_STEP_NUM_TASKS"] = "40000";
    slurm.environment["SLURM_STEP_TASKS_PER_NODE"] = "4(x10000)";
    slurm.environment["SLURM_PROCID"] = "39999";
    slurm.environment["SLURM_NODEID"] = "9999";
    call_all();
    BOOST_TEST(slurm.environment["MASTER_ADDR"] == "first");
    BOOST_TEST(slurm.environment["RANK"] == "39999");
}

BOOST_AUTO_TEST_CASE(a_step_that_claims_billions_of_tasks_takes_no_memory) {
    slurm.environment["SLURM_STEP_TASKS_PER_NODE"] = "2147483647";
    slurm.environment["SLURM_STEP_NUM_NODES"] = "1";
    slurm.environment["SLURM_STEP_NUM_TASKS"] = "2147483647";
    slurm.environment["SLURM_NODEID"] = "0";
    call_all();
    BOOST_TEST(slurm.environment["DET_SLOT_IDS"].size() < 100'000u);
}

BOOST_AUTO_TEST_CASE(errors_in_plugstack_conf_stop_no_job_before_its_tasks) {
    for (auto const& arguments : std::vector<std::vector<std::string>>{
             {""}, {"=", "wrapper"}, {"wrapper=relative"}, {"wrap=maybe"}, {std::string(100'000, 'x')}}) {
        reset();
        call_all(arguments);
        slurm.context = 2;
        BOOST_TEST(slurm_spank_task_init(nullptr, 1, std::vector<char*>{slurm.argv[0].data()}.data()) < 0);
    }
    BOOST_TEST(slurm_spank_task_init(nullptr, 3, nullptr) == 0);
}

BOOST_AUTO_TEST_CASE(a_step_without_a_command_is_left_alone) {
    slurm.argv.clear();
    call_all();
}

BOOST_AUTO_TEST_CASE(options_exist_in_job_contexts_and_are_checked_on_the_login_node) {
    for (auto const& [context, count] :
         std::map<int, unsigned>{{0, 0}, {1, 5}, {2, 5}, {3, 5}, {4, 0}, {5, 0}}) {
        slurm.registered.clear();
        slurm.context = context;
        slurm_spank_init(nullptr, 0, nullptr);
        BOOST_TEST(slurm.registered.size() == count, "context " << context);
    }
    slurm.context = 1;
    slurm_spank_init(nullptr, 0, nullptr);
    auto const call = [&](std::string const& name, char const* value, int remote) {
        return slurm.registered.at(name)(slurm.option_values.at(name), value, remote);
    };
    BOOST_TEST(call("det", nullptr, 0) == 0);
    BOOST_TEST(call("det-launch", "node", 0) == 0);
    BOOST_TEST(call("det-launch", "nodes", 0) < 0);
    BOOST_TEST(slurm.errors.back() == "det: --det-launch='nodes': it is node or rank");
    BOOST_TEST(call("det-launch", "nodes", 1) == 0);  // reported at the task, not before
}

BOOST_AUTO_TEST_CASE(no_text_of_a_job_forges_a_line_of_slurmds_log_or_fills_it) {
    std::string const forged = "x\n[2026-01-01T00:00:00.000] error: \x1b[31mforged\r\xe2\x80\xae";
    for (auto const& text :
         {forged, std::string(std::size_t{1} << 20, 'x'), std::string(std::size_t{1} << 20, '\n')}) {
        for (auto const* option : {"det", "det-wrap", "det-log", "det-launch", "det-requeue"}) {
            reset();
            slurm.options[option] = text;
            call_all();
            slurm.registered.at(option)(slurm.option_values.at(option), text.c_str(), 0);
            check_lines(option);
        }
        for (auto const* name : names) {
            reset();
            slurm.environment[name] = text;
            call_all({"wrapper=/opt/det/bin/det-wrap-rank", "partitions=gpu"});
            slurm.options["det"] = "on";
            call_all({"wrapper=/opt/det/bin/det-wrap-rank", "partitions=gpu"});
            check_lines(name);
        }
    }
}

BOOST_AUTO_TEST_CASE(one_task_of_a_node_reports_an_error_of_all) {
    slurm.environment["SLURM_STEP_NODELIST"] = "n[";
    slurm.local_task = 1;
    BOOST_TEST(slurm_spank_task_init(nullptr, 0, nullptr) < 0);
    BOOST_TEST(slurm.errors.size() == 0u);
    slurm.local_task = 0;
    BOOST_TEST(slurm_spank_task_init(nullptr, 0, nullptr) < 0);
    BOOST_TEST(slurm.errors.size() == 1u);
}

BOOST_AUTO_TEST_SUITE_END()
