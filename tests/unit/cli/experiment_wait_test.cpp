#include <det/protocol/json.hpp>

#include <boost/test/unit_test.hpp>
#include <cmath>

#include "cli_support.hpp"
#include "example_experiments.hpp"
#include "experiment/progress_line.hpp"

using namespace det;
using namespace det::cli;
using namespace det::experiment;
using namespace std::chrono_literals;

namespace experiment_wait_test {

struct Fixture : CliFixture {
    ExperimentLayout experiment = create_example(root, 1);

    Fixture() {
        slurm.job = job_of(1, slurm::JobState::pending, "PENDING");
        clock.on_sleep = [](auto elapsed) { BOOST_REQUIRE((elapsed < 24h)); };  // a test does not hang
    }
    void end(RunEnded const& end) { must(start_run(experiment, 0, 1).append(end)); }
};

}  // namespace experiment_wait_test

BOOST_FIXTURE_TEST_SUITE(experiment_wait_test, Fixture)

BOOST_AUTO_TEST_CASE(each_change_of_state_is_printed_once) {
    std::optional<journal::JournalWriter> life;
    clock.on_sleep = [&](auto elapsed) {
        if (elapsed == 5s) slurm.job = job_of(1, slurm::JobState::running, "RUNNING");
        if (elapsed == 12s) life.emplace(start_run(experiment, 0, 1));
        if (elapsed == 14s) must(life->append(finish(2)));
    };
    BOOST_TEST(run("experiment wait 1") == 0);
    BOOST_TEST(
        err ==
        "experiment 1: QUEUED\nexperiment 1: STARTING\nexperiment 1: RUNNING\nexperiment 1: COMPLETED\n");
    BOOST_TEST(out == "");
    BOOST_TEST((clock.steady_now().time_since_epoch() == 14s));  // journals are read twice a second
    BOOST_TEST(slurm.calls.size() == 3u);  // at 0 s, at 10 s, and once more to confirm the end
}

BOOST_AUTO_TEST_CASE(the_state_is_read_as_often_as_asked) {
    int polls = 0;
    clock.on_sleep = [&](auto) { ++polls; };
    BOOST_TEST(run("experiment wait 1 --polling-interval 60 --timeout 150") == to_int(ExitCode::timed_out));
    BOOST_TEST(polls == 3);
    BOOST_TEST((clock.steady_now().time_since_epoch() == 150s));
    for (auto const* wrong : {"0", "-1", "nan"})
        BOOST_TEST(run(std::string("experiment wait 1 --polling-interval ") + wrong) ==
                   to_int(ExitCode::usage));
}

BOOST_AUTO_TEST_CASE(a_bar_shows_the_progress_on_a_terminal) {
    start_run(experiment, 0, 1);
    slurm.job = job_of(1, slurm::JobState::running, "RUNNING");
    must(report(experiment, 0).append(ProgressReported{minute(2), 0.25}));
    BOOST_TEST(run("experiment wait 1 --timeout 4") == to_int(ExitCode::timed_out));
    BOOST_TEST(!contains(err, "%"), err);
    message_colour = Colour::always;
    BOOST_TEST(run("experiment wait 1 --timeout 4") == to_int(ExitCode::timed_out));
    BOOST_TEST(contains(err, "RUNNING\n\r\x1b[K[########........................]  25 %\r\x1b[K"), err);
}

BOOST_AUTO_TEST_CASE(a_bar_is_as_wide_as_asked) {
    BOOST_TEST(render_progress_bar(0, 18) == "[..........]   0 %");
    BOOST_TEST(render_progress_bar(0.999, 18) == "[#########.]  99 %");
    BOOST_TEST(render_progress_bar(7, 18) == "[##########] 100 %");
    BOOST_TEST(render_progress_bar(std::nan(""), 18) == "[..........]   0 %");
}

BOOST_AUTO_TEST_CASE(slurm_is_queried_every_ten_seconds) {
    BOOST_TEST(run("experiment wait 1 --timeout 60") == to_int(ExitCode::timed_out));
    BOOST_TEST(slurm.calls.size() == 7u);
    BOOST_TEST(contains(err, "experiment 1 is still QUEUED after 60 s [timed-out]"), err);
    BOOST_TEST((clock.steady_now().time_since_epoch() == 60s));
}

BOOST_AUTO_TEST_CASE(slurm_is_queried_at_once_only_when_a_trial_becomes_settled) {
    auto spec = must(parse_spec(must(read_file(experiment.spec()))));
    spec.trial_count = 2;
    must(write_file(experiment.spec(), render_spec(spec)));
    auto life = start_run(experiment, 0, 1);
    slurm.job = job_of(1, slurm::JobState::running, "RUNNING");
    slurm.other_jobs = {*slurm.job};
    slurm.other_jobs[0].ref.task = 1;
    clock.on_sleep = [&](auto elapsed) {
        if (elapsed == 4s) must(life.append(finish(2)));
    };
    BOOST_TEST(run("experiment wait 1 --timeout 60") == to_int(ExitCode::timed_out));
    BOOST_TEST(slurm.calls.size() == 7u);  // at 0 s, 4 s, 14 s ... 54 s
}

BOOST_AUTO_TEST_CASE(an_end_in_any_other_way_is_a_failure) {
    struct Row {
        Cause cause;
        std::string state;
    };
    std::uint32_t id = 1;
    for (auto const& row :
         {Row{Cause::failed, "ERROR"}, Row{Cause::canceled, "CANCELED"}, Row{Cause::time_limit, "ERROR"}}) {
        auto const layout = create_example(root, ++id);
        must(start_run(layout, 0, 1).append(run_end(2, row.cause, NextAction::stop, 9, "over")));
        BOOST_TEST(run("experiment wait " + std::to_string(id)) == to_int(ExitCode::could_not));
        BOOST_TEST(contains(err, "ended as " + row.state + " [experiment-failed]"), err);
        BOOST_TEST(contains(err, "see 'det-submit experiment describe " + std::to_string(id) + "'"), err);
    }
}

BOOST_AUTO_TEST_CASE(a_requeued_run_does_not_end_the_wait) {
    end(run_end(2, Cause::preempted, NextAction::requeue, 0, "Slurm preempted the job"));
    BOOST_TEST(run("experiment wait 1 --timeout 30") == to_int(ExitCode::timed_out));
}

BOOST_AUTO_TEST_CASE(an_interrupted_trial_ends_the_wait) {
    start_run(experiment, 0, 1);
    slurm.job.reset();
    BOOST_TEST(run("experiment wait 1") == to_int(ExitCode::could_not));
    BOOST_TEST(contains(err, "ended as INTERRUPTED"), err);
}

BOOST_AUTO_TEST_CASE(a_trial_that_ends_while_slurm_is_asked_is_not_interrupted) {
    auto life = start_run(experiment, 0, 1);
    slurm.job.reset();
    bool has_ended = false;
    slurm.on_call = [&](std::string const& call) {
        if (call == "queue" && !std::exchange(has_ended, true)) must(life.append(finish(2)));
    };
    BOOST_TEST(run("experiment wait 1") == 0, err);
    BOOST_TEST(has_ended);
}

BOOST_AUTO_TEST_CASE(the_end_is_found_without_slurm_too) {
    end(finish(2));
    slurm.is_down = true;
    BOOST_TEST(run("experiment wait 1") == 0);
    BOOST_TEST(contains(err, "warning: no answer"), err);
}

BOOST_AUTO_TEST_CASE(an_unreachable_slurm_does_not_end_the_wait) {
    start_run(experiment, 0, 1);
    slurm.job = job_of(1, slurm::JobState::running, "RUNNING");
    clock.on_sleep = [this](auto elapsed) { slurm.is_down = elapsed > 5s; };
    BOOST_TEST(run("experiment wait 1 --timeout 30") == to_int(ExitCode::timed_out));
    BOOST_TEST(contains(err, "still RUNNING"), err);
}

BOOST_AUTO_TEST_CASE(json_has_the_ended_experiment) {
    end(run_end(2, Cause::failed, NextAction::stop, 9, "over"));
    BOOST_TEST(run("experiment wait 1 --json") == to_int(ExitCode::could_not));
    BOOST_TEST(parse_json(out)["state"] == "ERROR");
}

BOOST_AUTO_TEST_CASE(waiting_for_an_unknown_experiment_fails) {
    BOOST_TEST(run("experiment wait 2") == to_int(ExitCode::absent));
    BOOST_TEST(run("experiment wait x") == to_int(ExitCode::absent));
    BOOST_TEST(run("experiment wait 1 --timeout=-1") == to_int(ExitCode::usage));
    BOOST_TEST(slurm.calls.empty());
}

BOOST_AUTO_TEST_SUITE_END()
