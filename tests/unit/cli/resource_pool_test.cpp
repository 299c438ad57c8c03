#include <det/protocol/json.hpp>

#include <boost/test/unit_test.hpp>

#include "cli_support.hpp"
#include "golden.hpp"

using namespace det;
using namespace det::cli;
using namespace det::experiment;

namespace resource_pool_test {

struct Fixture : CliFixture {
    Fixture() {
        slurm.partition_list = {
            {"compute",
             true,
             true,
             "REQUEUE",
             std::chrono::seconds(30),
             {{4, 8, "idle", "gpu:4", "(null)", "n[0-3]"}}},
            {"cpu", false, false, "OFF", {}, {{1, 16, "idle", "(null)", "(null)", "c0"}}}};
        slurm.node_list = {{"n0", "compute", "allocated", 8, 8, "gpu:4", "gpu:4(IDX:0-3)"},
                           {"n1", "compute", "idle", 8, 0, "gpu:4", "gpu:0"},
                           {"n2", "compute", "idle", 8, 0, "gpu:4", "gpu:0"},
                           {"n3", "compute", "drained", 8, 0, "gpu:4", "gpu:0"},
                           {"c0", "cpu", "mixed", 16, 4, "(null)", "(null)"}};
        auto& job = slurm.other_jobs.emplace_back();
        job.partition = "compute";
        job.state = slurm::JobState::pending;
        auto const file = directory / "site.yaml";
        must(write_file(
            file,
            "version: 1\ndefault_aux_pool: cpu\npools:\n"
            "  - {name: fast, partition: compute, qos: high, description: \"first \\e[31m come\",\n"
            "     limits: {slots_per_trial: 8, time: 120}, container_runtime: apptainer}\n"));
        environment.set("DET_SITE", file.string());
    }
};

}  // namespace resource_pool_test

BOOST_FIXTURE_TEST_SUITE(resource_pool_test, Fixture)

BOOST_AUTO_TEST_CASE(pools_are_printed_as_a_table_or_json) {
    BOOST_TEST(run("resource-pool list") == 0);
    check_golden("cli/resource_pool_list.txt", out);
    BOOST_TEST(run("rp list --json") == 0);
    check_golden("cli/resource_pool_list.json", out);
}

BOOST_AUTO_TEST_CASE(one_pool_is_described) {
    BOOST_TEST(run("rp describe compute") == 0);
    check_golden("cli/resource_pool_describe.txt", out);
    BOOST_TEST(run("rp describe fast") == 0);
    BOOST_TEST(contains(out, "first \\x1b[31m come"), out);
    BOOST_TEST(contains(out, "Time limit:       120"), out);
    BOOST_TEST(ask("rp describe fast")["limits"]["slots_per_trial"] == 8);
}

BOOST_AUTO_TEST_CASE(an_unknown_pool_is_reported_with_the_nearest_name) {
    BOOST_TEST(run("rp describe computer") == to_int(ExitCode::bad_file));
    BOOST_TEST(contains(err, "hint: use 'compute'; resource pools here: fast, compute, cpu"), err);
}

BOOST_AUTO_TEST_CASE(without_slurm_pools_are_an_error) {
    slurm.is_down = true;
    BOOST_TEST(run("rp list") == to_int(ExitCode::slurm_unreachable));
    BOOST_TEST(out == "");
}

BOOST_AUTO_TEST_SUITE_END()
