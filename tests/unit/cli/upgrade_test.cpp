// A root that det-submit of 2026-11-22 (commit 84ea7fe) has written on a loopback site: experiment 1 is the
// example `line`, on four ranks, with a checkpoint; experiment 2 a grid of two trials that fail twice each.
// Made by: the programs of that commit, `experiment create` of both, `tar --create . | zstd -19` in the root.
#include <det/foundation/process.hpp>
#include <det/journal/event_log.hpp>

#include <boost/test/unit_test.hpp>

#include "create_support.hpp"
#include "test_paths.hpp"

using namespace det;
using namespace det::cli;

namespace upgrade_test {

struct OldRoot : CreateFixture {
    OldRoot() {
        must(make_directories(root.path()));
        auto const fixture = det::test::source_path("tests/unit/cli/fixtures/root-84ea7fe.tar.zst");
        auto const unpacked = must(SystemProcessRunner().run(
            {{"tar", "--zstd", "--no-same-owner", "-C", root.path().string(), "-xf", fixture},
             Environment::of_this_process(),
             std::chrono::seconds(30)}));
        BOOST_REQUIRE_MESSAGE(unpacked.exit_code == 0, unpacked.err);
        BOOST_REQUIRE(!path_exists(root.path() / "format"));
    }
};

}  // namespace upgrade_test

BOOST_FIXTURE_TEST_SUITE(upgrade_test, OldRoot)

BOOST_AUTO_TEST_CASE(an_older_root_is_listed) {
    auto const list = ask("experiment list");
    BOOST_REQUIRE(list.size() == 2u);
    BOOST_TEST(list[0]["name"] == "line");
    BOOST_TEST(list[0]["state"] == "COMPLETED");
    BOOST_TEST(list[1]["name"] == "fails");
    BOOST_TEST(list[1]["state"] == "ERROR");
}

BOOST_AUTO_TEST_CASE(its_experiments_metrics_logs_and_checkpoints_are_read) {
    auto const trials = ask("experiment describe 2")["trials"];
    BOOST_REQUIRE(trials.size() == 2u);
    for (auto const& trial : trials) BOOST_TEST(trial["runs"].size() == 2u);
    auto const metrics = ask("trial metrics 1");
    BOOST_REQUIRE(metrics.size() == 6u);
    BOOST_TEST(metrics[5]["steps_completed"] == 300);
    BOOST_TEST(metrics[5]["metrics"]["slope"].get<double>() > 2.9);
    BOOST_TEST(run("trial logs 1 --rank 0") == 0, err);
    BOOST_TEST(contains(out, "y = 3.00 x + 1.00 at step 300"), out);
    auto const checkpoints = ask("experiment list-checkpoints 1");
    BOOST_REQUIRE(!checkpoints.empty());
    auto const uuid = checkpoints.back()["uuid"].get<std::string>();
    BOOST_TEST(run("checkpoint verify " + uuid) == 0, err);
    BOOST_TEST(run("experiment config 1") == 0, err);
    BOOST_TEST(run("dump " + experiment(1).spec().string()) == 0, err);
}

BOOST_AUTO_TEST_CASE(its_experiments_continue) {
    auto const told = ask("experiment continue 1 --config searcher.max_length.batches=400");
    BOOST_TEST(told["trials"] == Json{"1.0"});
    auto const spec = must(parse_spec(must(read_file(experiment(1).spec()))));
    BOOST_TEST(spec.first_run_of(0) == 1u);
    BOOST_TEST(spec.config->at("searcher")["max_length"]["batches"] == 400);
    BOOST_TEST(told["job_ids"].size() == 1u);
}

BOOST_AUTO_TEST_CASE(new_experiments_are_made_beside_the_old_ones) {
    BOOST_REQUIRE_MESSAGE(create() == 0, err);
    BOOST_TEST(path_exists(experiment(3).spec()));
    BOOST_TEST(path_exists(root.path() / "format"));
    BOOST_TEST(ask("experiment list").size() == 3u);
}

BOOST_AUTO_TEST_SUITE_END()
