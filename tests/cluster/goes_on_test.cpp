// How a trial goes on where its nodes, its time or its job can't.
#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include "digits_cluster.hpp"

using namespace det;
using namespace std::chrono_literals;

namespace {

struct Site : DigitsCluster {
    Site() : DigitsCluster(with_plugin()) {}

    /// A trial on one node whose first run complains about it, with a policy against that.
    int create_complaining(std::string const& arguments) const {
        return create(
            "--config resources.slots_per_trial=4 "
            "--config 'log_policies=[{name: ecc, pattern: ECC Error, action: exclude_node}]' "
            "--config 'entrypoint=[sh, -c, \"[ $DET_TRIAL_RUN_ID != 0 ] || { echo ECC Error; exit 3; }\"]' " +
            arguments);
    }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(goes_on, Site)

BOOST_AUTO_TEST_CASE(a_bad_node_is_left_by_the_next_run_in_the_job_if_it_has_one_to_spare_else_by_the_job) {
    auto const spare = create_complaining("--config slurm.spare_nodes=1");
    finish(spare);
    auto const here = trial(spare).at("runs");
    BOOST_REQUIRE(here.size() == 2u);
    BOOST_TEST(here.at(0).at("follow") == "restart-in-place");
    BOOST_TEST(here.at(1).at("hosts") != here.at(0).at("hosts"));
    BOOST_TEST(here.at(1).at("restart_count") == 0);

    auto const none = create_complaining("");
    finish(none);
    auto const elsewhere = trial(none).at("runs");
    BOOST_REQUIRE(elsewhere.size() == 2u);
    BOOST_TEST(elsewhere.at(0).at("follow") == "requeue");
    BOOST_TEST(elsewhere.at(1).at("hosts") != elsewhere.at(0).at("hosts"));
    BOOST_TEST(elsewhere.at(1).at("restart_count") == 1);
}

BOOST_AUTO_TEST_CASE(before_a_time_limit_it_saves_and_queues_again) {
    auto const id = create(std::string(endless) + "--config 'slurm.sbatch_args=[--time=1]'");
    wait_until([&] { return trial(id).at("runs").size() == 2u; }, 120s, "a second run");
    wait_for_run(id, 1);
    auto const runs = trial(id).at("runs");
    BOOST_TEST(runs.at(0).at("cause") == "time-limit");
    BOOST_TEST(runs.at(0).at("follow") == "requeue");
    BOOST_TEST(runs.at(1).at("steps_completed") > 0);
    BOOST_TEST(runs.at(1).at("job") == runs.at(0).at("job"));
    shell(fmt::format("det experiment kill {}", id));
}

BOOST_AUTO_TEST_CASE(where_slurm_does_not_requeue_the_job_another_takes_its_place) {
    auto const id = create(endless);
    wait_for_run(id, 0);
    shell(fmt::format("scontrol update JobId={} Requeue=0",
                      trial(id).at("runs").at(0).at("job").get<std::string>()));
    shell(fmt::format("det experiment pause {}", id));
    wait_for_state(id, "PAUSED");
    auto const paused = trial(id).at("runs").at(0);
    BOOST_TEST(paused.at("message").get<std::string>().find("takes its place") != std::string::npos,
               paused.at("message"));
    BOOST_TEST(shell("squeue --noheader --format=%r") == "JobHeldUser");
    shell(fmt::format("det experiment activate {}", id));
    wait_for_run(id, 1);
    auto const resumed = trial(id).at("runs").at(1);
    BOOST_TEST(resumed.at("job") != paused.at("job"));
    BOOST_TEST(resumed.at("steps_completed") > 0);
    shell(fmt::format("det experiment kill {}", id));
}

BOOST_AUTO_TEST_SUITE_END()
