#include <det/protocol/json.hpp>

#include <boost/test/unit_test.hpp>
#include <cmath>

#include "cli_support.hpp"
#include "example_experiments.hpp"
#include "experiment/live_line.hpp"
#include "output/trial_text.hpp"

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
    BOOST_TEST(err ==
               "experiment 1: QUEUED\nexperiment 1: STARTING\nexperiment 1: RUNNING\n"
               "experiment 1: COMPLETED in 0:01:00\n");
    BOOST_TEST(out == "");
    BOOST_TEST((clock.steady_now().time_since_epoch() == 14s));  // journals are read twice a second
    // At 0 s, at 10 s, when the run has begun, and to confirm the end; and once the whole queue.
    BOOST_TEST(std::ranges::count(slurm.calls, "queue") == 5);
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
    BOOST_TEST(contains(err, "\r\x1b[K[######..................]  25 %\r\x1b[K"), err);
    BOOST_TEST(!contains(err, "RUNNING\n"), err);
}

BOOST_AUTO_TEST_CASE(a_reason_to_wait_is_printed_once_with_the_place_in_the_queue) {
    slurm.job->reason = "Priority";
    slurm.job->partition = "compute";
    slurm.job->priority = 5;
    for (std::uint32_t number : {7000u, 7001u}) {
        slurm.other_jobs.push_back(*slurm.job);
        slurm.other_jobs.back().ref = {number, {}};
        slurm.other_jobs.back().priority = number == 7000u ? 9 : 1;
        slurm.other_jobs.back().comment = "another's";
    }
    clock.on_sleep = [&](auto elapsed) {
        if (elapsed == 25s) slurm.job->reason = "Resources";
    };
    BOOST_TEST(run("experiment wait 1 --timeout 60") == to_int(ExitCode::timed_out));
    BOOST_TEST(
        err.starts_with("experiment 1: QUEUED, other jobs come first (position 2 of 3 in compute)\n"
                        "experiment 1: QUEUED, next in turn, waits for nodes to become free (position 2 of "
                        "3 in compute)\ndet-submit: error"),
        err);
    message_colour = Colour::always;
    BOOST_TEST(run("experiment wait 1 --timeout 60") == to_int(ExitCode::timed_out));
    BOOST_TEST(contains(err, "\r\x1b[Kexperiment 1 is queued: position 2 of 3 in compute; next in turn"),
               err);
    // Where Slurm hides the jobs of others, a position says nothing.
    slurm.config = slurm::ClusterConfig(slurm::ClusterConfig::Settings{{"PrivateData", "accounts,jobs"}});
    BOOST_TEST(run("experiment wait 1 --timeout 60") == to_int(ExitCode::timed_out));
    BOOST_TEST(contains(err, "experiment 1 is queued: next in turn"), err);
    BOOST_TEST(!contains(err, "position"), err);
}

BOOST_AUTO_TEST_CASE(a_failure_shows_the_traceback_of_the_rank_that_failed_first) {
    end(run_end(2, Cause::failed, NextAction::stop, 9, "a rank ended with exit code 1"));
    auto const run_layout = experiment.trial(0).run(0);
    auto const failure_of = [](int rank, int at, std::string output) {
        RankFailure failure;
        failure.time = minute(at);
        failure.rank = rank;
        failure.host = "n1";
        failure.exit_code = 1;
        failure.last_output = std::move(output);
        return render_rank_failure(failure);
    };
    must(write_file(run_layout.path() / "node-0.ends",
                    failure_of(3, 2, "killed") + failure_of(2, 1,
                                                            "step 7\nTraceback (most recent call last):\n"
                                                            "  line 1\nValueError: no")));
    BOOST_TEST(run("experiment wait 1") == to_int(ExitCode::could_not));
    BOOST_TEST(
        contains(err,
                 "experiment 1: ERROR in 0:01:00\ntrial 1.0: a rank ended with exit code 1 (failed)\n\n"
                 "Run 0: rank 2 on n1 failed first: exit code 1\n    Traceback (most recent call "
                 "last):\n      line 1\n    ValueError: no\n"),
        err);
}

BOOST_AUTO_TEST_CASE(the_end_of_an_output_is_its_last_traceback) {
    using Lines = std::vector<std::string>;
    std::string const traceback = "Traceback (most recent call last):";
    BOOST_TEST(end_of_output("a\n" + traceback + "\nb\n" + traceback + "\nc\nd", 9) ==
               (Lines{traceback, "c", "d"}));
    BOOST_TEST(end_of_output("a\n" + traceback + "\n1\n2\n3\n4\n5", 4) ==
               (Lines{traceback, "...", "4", "5"}));
    BOOST_TEST(end_of_output("1\n2\n3", 3) == (Lines{"1", "2", "3"}));
    BOOST_TEST(end_of_output("", 3).size() <= 1u);
}

BOOST_AUTO_TEST_CASE(a_live_line_says_what_is_known_and_fits_the_terminal) {
    LiveFacts facts;
    facts.id = {7};
    UtcTime const now{};
    BOOST_TEST(live_line(facts, now, 80) == "experiment 7 is queued");
    facts.place = QueuePlace{"other jobs come first", "gpu", 3, 12, {}};
    BOOST_TEST(live_line(facts, now, 80) ==
               "experiment 7 is queued: position 3 of 12 in gpu; other jobs come first");
    facts.place->start.time = UtcTime{3'723'000'000};
    BOOST_TEST(contains(live_line(facts, now, 200), "; Slurm expects it to start at "));
    BOOST_TEST(contains(live_line(facts, now, 200), "(in 1:02:03)"));
    facts.place->start = {{}, "jobs before it have no time limit"};
    BOOST_TEST(live_line(facts, now, 200).ends_with("start unknown: jobs before it have no time limit"));
    facts.state = lifecycle::State::starting;
    facts.hosts = "n[0-1]";
    BOOST_TEST(live_line(facts, now, 80) == "experiment 7 is starting on n[0-1]");
    facts.state = lifecycle::State::running;
    facts.training.step = 50;
    facts.training.metric = MetricFact{"loss", 0.123456, 50, {}};
    BOOST_TEST(live_line(facts, now, 80) == "experiment 7 runs on n[0-1]: step 50, loss 0.1235");
    facts.training.steps_total = 100;
    facts.training.progress = 0.5;
    facts.training.steps_per_s = 12.5;
    facts.training.time_left_s = 4;
    BOOST_TEST(live_line(facts, now, 200) ==
               "[############............]  50 %  step 50 of 100, 12.5/s, 0:00:04 left, loss 0.1235");
    BOOST_TEST(live_line(facts, now, 60).size() <= 59u);
    facts.trials = 8;
    facts.ended_trials = 3;
    facts.running_trials = 4;
    facts.training.step.reset();
    facts.training.steps_per_s.reset();
    facts.training.metric->trial = TrialId{{7}, 2};
    BOOST_TEST(live_line(facts, now, 200) ==
               "[############............]  50 %  3 of 8 trials ended, 4 running, 0:00:04 left, best loss "
               "0.1235 (trial 7.2)");
    facts.state = lifecycle::State::completed;
    BOOST_TEST(result_line(facts, 192.7) ==
               "experiment 7: COMPLETED in 0:03:12, best loss 0.1235 (trial 7.2) at step 50");
}

BOOST_AUTO_TEST_CASE(the_speed_is_that_of_the_last_minute_of_a_run) {
    tracker::history::RunReports reports;
    auto const add = [&](int seconds, std::uint64_t step) {
        MetricsReported report;
        report.time.microseconds = std::int64_t{seconds} * 1'000'000;
        report.group = "training";
        report.steps_completed = step;
        reports.metrics.push_back(report);
    };
    BOOST_TEST(!training_speed(reports));
    add(0, 10);
    BOOST_TEST(!training_speed(reports));
    add(10, 20);
    BOOST_TEST(training_speed(reports).value() == 1);
    add(100, 110);
    add(110, 310);
    BOOST_TEST(training_speed(reports).value() == 2.9);  // since step 20 at 10 s
    add(200, 310);
    add(260, 370);
    add(270, 380);
    BOOST_TEST(training_speed(reports).value() == 1);  // since step 310 at 200 s
}

BOOST_AUTO_TEST_CASE(an_interrupted_command_says_what_goes_on) {
    BOOST_TEST(
        interrupt_text({7}, "experiment wait 7") ==
        "experiment 7 goes on without this command; follow it again with 'det-submit experiment wait 7', "
        "end it with 'det-submit stop 7'");
}

BOOST_AUTO_TEST_CASE(a_bar_is_as_wide_as_asked) {
    BOOST_TEST(render_progress_bar(0, 18) == "[..........]   0 %");
    BOOST_TEST(render_progress_bar(0.999, 18) == "[#########.]  99 %");
    BOOST_TEST(render_progress_bar(7, 18) == "[##########] 100 %");
    BOOST_TEST(render_progress_bar(std::nan(""), 18) == "[..........]   0 %");
}

BOOST_AUTO_TEST_CASE(slurm_is_queried_every_ten_seconds) {
    BOOST_TEST(run("experiment wait 1 --timeout 60") == to_int(ExitCode::timed_out));
    // Seven times, and once the whole queue.
    BOOST_TEST(std::ranges::count(slurm.calls, "queue") == 8);
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
