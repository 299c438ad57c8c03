// The step of interpreters that wait, as the supervisor begins and ends it.
#include <boost/test/unit_test.hpp>

#include "supervisor_fixture.hpp"
#include "warm_start.hpp"

using namespace det;
using namespace det::launch::supervisor;
using namespace std::chrono_literals;

namespace warm_start_step_test {

struct Fixture : SupervisorFixture {
    BatchJob job = batch_job();
    SupervisorContext context{slurm,
                              clock,
                              Environment::of_this_process(),
                              "/opt/det-wrap-rank",
                              [this](std::string const& line) { log_lines.push_back(line); },
                              {},
                              output()};
    TrialId const trial{{7}, 0};
    std::filesystem::path const requests = experiment.trial(0).path() / "warm-start";

    Fixture() { job.spec.config = Json{{"slurm", {{"warm_start", true}}}}; }
    /// As a rank does that has found no interpreter.
    void ask(std::string const& execution) const {
        must(make_directories(requests / execution));
        must(write_file(requests / execution / "KEY", "an environment", 0600));
    }
};

}  // namespace warm_start_step_test

BOOST_FIXTURE_TEST_SUITE(warm_start_step_test, Fixture)

BOOST_AUTO_TEST_CASE(requests_of_a_killed_supervisor_are_removed_and_those_of_a_newer_one_stay) {
    step_is("exec cat");
    WarmStart warm(job, context);
    ask("122_0-0");
    ask("123_0-0");  // its own: a rank may have asked before this begins
    warm.begin(trial, {});
    BOOST_TEST(!path_exists(requests / "122_0-0"));
    BOOST_TEST(path_exists(requests / "123_0-0/KEY"));
    ask("123_0-1");
    warm.end(false);
    BOOST_TEST(!path_exists(requests / "123_0-0"));
    BOOST_TEST(path_exists(requests / "123_0-1/KEY"));
    job.incarnation.restart_count = 1;
    warm.begin(trial, {});
    warm.end(false);
    BOOST_TEST(!path_exists(requests));
    BOOST_TEST(log_lines.empty());
}

BOOST_AUTO_TEST_CASE(a_step_with_a_lost_node_is_awaited_for_a_second_only) {
    step_is("exec sleep 600");
    clock.step = 500ms;
    auto const ends_after = [&](bool is_node_lost, std::vector<std::string> const& lost_before) {
        WarmStart warm(job, context);
        warm.begin(trial, {});
        warm.begin(trial, lost_before);
        auto const begin = clock.steady_now();
        warm.end(is_node_lost);
        return clock.steady_now() - begin;
    };
    BOOST_TEST((ends_after(false, {}) >= 5s));  // that no keeper has connected shows no loss
    BOOST_TEST((ends_after(true, {}) < 4s));
    BOOST_TEST((ends_after(false, {"n1"}) < 4s));
}

BOOST_AUTO_TEST_SUITE_END()
