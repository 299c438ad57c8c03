// What people see of experiments: experiment list and describe, as tables and as JSON.
#include <det/experiment/open_experiment.hpp>
#include <det/protocol/json.hpp>

#include <boost/test/unit_test.hpp>

#include "cli_support.hpp"
#include "example_experiments.hpp"
#include "golden.hpp"
#include "local_time_zone.hpp"
#include "output/load_interruptions.hpp"

using namespace det;
using namespace det::cli;
using namespace det::experiment;

namespace views_test {

struct Fixture : CliFixture {
    Fixture() {
        write_examples(root);
        slurm.other_jobs.push_back(job_of(2, slurm::JobState::running, "RUNNING"));
    }
};

}  // namespace views_test

BOOST_AUTO_TEST_SUITE(views_test)

BOOST_FIXTURE_TEST_CASE(without_experiments_the_list_is_empty, CliFixture) {
    BOOST_TEST(run("experiment list") == 0);
    BOOST_TEST(split_lines(out).size() == 2u);
    BOOST_TEST(ask("experiment list") == Json::array());
    BOOST_TEST(slurm.calls.empty());  // nothing to ask about
}

BOOST_FIXTURE_TEST_CASE(experiments_are_a_table_for_people, Fixture) {
    BOOST_TEST(run("experiment list") == 0);
    check_golden("cli/experiment_list.txt", out);
    BOOST_TEST(err == "");
    BOOST_TEST(slurm.calls.size() == 1u);  // however many they are
}

BOOST_FIXTURE_TEST_CASE(experiments_are_json_for_programs, Fixture) {
    BOOST_TEST(run("experiment list --json") == 0);
    check_golden("cli/experiment_list.json", out);
}

BOOST_FIXTURE_TEST_CASE(an_experiment_is_described_run_by_run, Fixture) {
    BOOST_TEST(run("experiment describe 1 --trials") == 0);
    check_golden("cli/experiment_describe.txt", out);
    auto const described = ask("experiment describe 1");
    auto listed = ask("experiment list")[0];
    listed["config"] = described["config"];
    listed["trials"][0]["interruptions"] = described["trials"][0]["interruptions"];
    BOOST_TEST(described == listed);  // the same fields, the configuration, and what made it stop
    BOOST_TEST(described["config"]["name"] == "digits");
}

BOOST_FIXTURE_TEST_CASE(a_run_has_all_its_fields_before_it_begins, Fixture) {
    must(make_directories(ExperimentLayout(root, {1}).trial(0).run(2).path()));
    auto const runs = ask("trial describe 1.0")["runs"];
    BOOST_REQUIRE(runs.size() == 3u);
    for (auto const& [key, value] : runs[1].items()) {
        BOOST_TEST(runs[2].contains(key), key);
        bool const may_be_null = key != "run" && key != "first_failure" && key != "ranks" && key != "alerts";
        if (may_be_null) BOOST_TEST(runs[2][key].is_null(), key);
    }
    BOOST_TEST(runs[2]["alerts"] == Json::array());
}

BOOST_FIXTURE_TEST_CASE(what_was_never_submitted_is_shown_as_far_as_it_goes, Fixture) {
    BOOST_TEST(run("experiment describe 10") == 0);
    BOOST_TEST(out == "Experiment 10: SUBMITTING\nNext:          det-submit experiment kill 10\n");
    BOOST_TEST(ask("experiment describe 10")["job_id"].is_null());
}

BOOST_FIXTURE_TEST_CASE(the_jobs_reason_is_shown_while_it_waits, Fixture) {
    slurm.job = job_of(2, slurm::JobState::pending, "PENDING");
    slurm.job->reason = "Resources";
    BOOST_TEST(run("experiment describe 2") == 0);
    BOOST_TEST(contains(out, "\nWaits:         job 4712_0: "), out);
    BOOST_TEST(contains(out, "(Resources)\n"), out);
    BOOST_TEST(run("experiment describe 2 --trials") == 0);
    BOOST_TEST(contains(out, "Trial 2.0: QUEUED, job 4712_0: PENDING, Resources\n"), out);
}

BOOST_FIXTURE_TEST_CASE(a_terminal_shows_local_times_and_pipes_json_and_csv_show_utc, Fixture) {
    LocalTimeZone const two_hours_east("XYZ-2");
    environment.set("COLUMNS", "200");
    slurm.other_jobs[0].start_time = minute(31);
    struct Case {
        std::string line, local, utc, json;
    };
    for (auto const& [line, local, utc, json] :
         {Case{"trial describe 1", "today 14:01", "2026-11-21 12:01:00Z", "2026-11-21T12:01:00"},
          Case{"experiment describe 1 --trials", "today 14:10", "2026-11-21 12:10:00Z",
               "2026-11-21T12:10:00"},
          Case{"experiment list-checkpoints 1", "today 14:04", "2026-11-21 12:04:00Z", "2026-11-21T12:04:00"},
          Case{"task list", "today 14:31", "2026-11-21 12:31:00Z", "2026-11-21T12:31:00"}}) {
        destination = Destination::terminal;
        BOOST_TEST(run(line) == 0, err);
        BOOST_TEST(contains(out, local), line << "\n" << out);
        BOOST_TEST(!contains(out, "Z"), line << "\n" << out);
        for (auto const* option : {" --json", " --csv"}) {
            if (line.ends_with("--trials") && option == std::string(" --csv")) continue;
            BOOST_TEST(run(line + option) == 0, err);
            BOOST_TEST(contains(out, option == std::string(" --json") ? json : utc), line << option << "\n"
                                                                                          << out);
        }
        destination = Destination::pipe_or_file;
        BOOST_TEST(run(line) == 0, err);
        BOOST_TEST(contains(out, utc), line << "\n" << out);
    }
}

/// A trial whose texts are longer than a terminal is wide.
struct WideFixture : Fixture {
    WideFixture() {
        auto const wide = create_example(root, 4, "a long name " + std::string(100, 'x'));
        must(start_run(wide, 0, 1)
                 .append(run_end(2, Cause::failed, NextAction::stop, 1,
                                 "a long message " + std::string(200, 'y'))));
        auto metrics = Json::object();
        for (int i = 0; i < 20; ++i) metrics["metric_" + std::to_string(i)] = 0.123456789;
        must(report(wide, 0).append(MetricsReported{minute(2), "validation", 50, metrics}));
        destination = Destination::terminal;
    }
};

BOOST_FIXTURE_TEST_CASE(no_line_of_a_table_is_wider_than_the_terminal, WideFixture) {
    environment.set("COLUMNS", "70");
    for (auto const* line :
         {"experiment list", "experiment list --metrics", "experiment list-trials 4", "experiment best 4",
          "trial metrics 4", "task list", "job list", "resource-pool list", "model list", "template list",
          "experiment list-checkpoints 1", "experiment compare 1 4", "experiment report 1", "top",
          "experiment describe 4 --search", "experiment describe 1 --trials"}) {
        BOOST_TEST(run(line) == 0, line << ": " << err);
        for (auto const row : split_lines(out)) {
            if (row.find(" | ") != row.npos || row.starts_with("---"))
                BOOST_TEST(display_width(row) <= 70u, line << "\n" << row);
        }
    }
    BOOST_TEST(run("trial describe 4") == 0, err);
    for (auto const row : split_lines(out))
        if (row.find(" | ") != row.npos) BOOST_TEST(display_width(row) <= 70u, row);
}

BOOST_FIXTURE_TEST_CASE(a_terminal_shows_four_digits_and_states_in_colour_and_csv_does_not, WideFixture) {
    environment.set("COLUMNS", "200");
    environment.set("TERM", "xterm");
    BOOST_TEST(run("trial metrics 4") == 0);
    BOOST_TEST(contains(out, "metric_0=0.1235 "), out);
    BOOST_TEST(run("trial metrics 4 --csv") == 0);
    BOOST_TEST(contains(out, ",0.123456789,"), out);
    BOOST_TEST(run("experiment list") == 0);
    BOOST_TEST(contains(out, "\x1b[32mCOMPLETED\x1b[0m"), out);
    BOOST_TEST(run("experiment list --csv") == 0);
    BOOST_TEST(!contains(out, "\x1b["), out);
    environment.set("NO_COLOR", "1");
    BOOST_TEST(run("experiment list") == 0);
    BOOST_TEST(!contains(out, "\x1b["), out);
}

BOOST_FIXTURE_TEST_CASE(without_slurm_the_journals_speak_and_a_warning_says_so, Fixture) {
    slurm.is_down = true;
    auto const states = ask("experiment list");
    BOOST_TEST(states[0]["state"] == "COMPLETED");
    BOOST_TEST(states[1]["state"] == "RUNNING");
    BOOST_TEST(contains(err, "warning: no answer"), err);
    BOOST_TEST(contains(err, "the states come from the journals only"), err);
}

BOOST_FIXTURE_TEST_CASE(a_job_that_slurm_forgot_while_it_ran_is_interrupted, Fixture) {
    slurm.other_jobs.clear();
    BOOST_TEST(ask("experiment describe 2")["state"] == "INTERRUPTED");
}

BOOST_FIXTURE_TEST_CASE(an_experiment_that_is_damaged_does_not_hide_the_others, Fixture) {
    must(write_file(ExperimentLayout(root, {2}).spec(), "{}"));
    auto const listed = ask("experiment list");
    BOOST_TEST(listed.size() == 3u);
    BOOST_TEST(contains(err, "while listing experiment 2"), err);
    BOOST_TEST(run("experiment describe 2") == to_int(ExitCode::could_not));
}

BOOST_FIXTURE_TEST_CASE(what_is_no_id_is_told_apart_from_what_is_not_there, Fixture) {
    for (auto const* id : {"0", "x", "1.0", "-1", "99999999999"}) {
        auto const code = must_fail(require_experiment_id(id)).code;
        BOOST_TEST((code == codes::usage), id);
    }
    BOOST_TEST(run("experiment describe x") == to_int(ExitCode::absent));
    BOOST_TEST(run("experiment describe 4") == to_int(ExitCode::absent));
    BOOST_TEST(contains(err, "[no-such-experiment]"), err);
}

BOOST_AUTO_TEST_CASE(a_trial_is_named_in_three_ways) {
    for (auto const* id : {"7.3", "7000003"}) BOOST_TEST((must(require_trial_id(id)) == TrialId{{7}, 3}), id);
    BOOST_TEST((must(require_trial_id("7")) == TrialId{{7}, 0}));  // its first
    for (auto const* id : {"", "7.", ".3", "7.3.0", "0", "seven"}) {
        BOOST_TEST((must_fail(require_trial_id(id)).code == codes::usage), id);
    }
}

BOOST_AUTO_TEST_SUITE_END()
