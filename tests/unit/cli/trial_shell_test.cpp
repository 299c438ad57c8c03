#include <det/protocol/json.hpp>

#include <boost/test/unit_test.hpp>

#include "cli_support.hpp"
#include "example_experiments.hpp"

using namespace det;
using namespace det::cli;

BOOST_FIXTURE_TEST_SUITE(trial_shell_test, CliFixture)

BOOST_AUTO_TEST_CASE(the_shell_runs_on_the_node_of_the_rank) {
    auto const layout = create_example(root, 3);
    start_run(layout, 0, 1);
    slurm.other_jobs = {job_of(3, slurm::JobState::running, "RUNNING")};
    auto const answer = ask("trial shell 3 --rank 5 --dry-run");
    BOOST_TEST(answer["node"] == "n1");
    std::vector<std::string> const command = answer["command"];
    auto const has = [&](std::string const& word) { return std::ranges::count(command, word) == 1; };
    for (auto const* word : {"--jobid=4713", "--overlap", "--nodelist=n1", "--gres=gpu:4", "enter", "5"})
        BOOST_TEST(has(word), word);
    BOOST_TEST(has(layout.trial(0).run(0).path().string()));
    BOOST_TEST(!has("--pty"));
    typed = "";  // a terminal
    BOOST_TEST(run("trial shell 3.0 --dry-run -- ls --help") == 0);
    BOOST_TEST(contains(out, " --pty -- "), out);
    BOOST_TEST(contains(out, " --rank 0 -- ls --help\n"), out);
    BOOST_TEST(run("trial shell 3 --rank 8 --dry-run") == to_int(ExitCode::absent));
    BOOST_TEST(contains(err, "trial 3.0 has no rank 8"), err);
    BOOST_TEST(contains(err, "its ranks are 0 to 7"), err);
}

BOOST_AUTO_TEST_CASE(a_trial_that_does_not_run_has_no_shell) {
    auto const layout = create_example(root, 3);
    BOOST_TEST(run("trial shell 3 --dry-run") == to_int(ExitCode::could_not));
    must(start_run(layout, 0, 1).append(finish(5)));
    BOOST_TEST(run("trial shell 3 --dry-run") == to_int(ExitCode::could_not));
    BOOST_TEST(contains(err, "does not run: it is COMPLETED"), err);
    BOOST_TEST(run("trial shell 4 --dry-run") == to_int(ExitCode::absent));
}

BOOST_AUTO_TEST_SUITE_END()
