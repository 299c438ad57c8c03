#include <det/protocol/json.hpp>
#include <det/yaml/parse.hpp>
#include <det/yaml/render.hpp>

#include <boost/test/unit_test.hpp>

#include "cli_support.hpp"
#include "example_experiments.hpp"
#include "golden.hpp"

using namespace det;
using namespace det::cli;
using namespace det::experiment;
using slurm::JobState;
using slurm::JobStatus;

namespace job_list_test {

JobStatus job(slurm::JobRef ref, JobState state, std::int64_t priority, int submitted_s) {
    JobStatus job;
    job.ref = ref;
    job.state = state;
    job.state_text = state == JobState::pending ? "PENDING" : "RUNNING";
    job.reason = state == JobState::pending ? "Resources" : "None";
    job.priority = priority;
    job.submit_time = UtcTime{1'795'262'400'000'000 + submitted_s * 1'000'000LL};
    job.nodes = 2;
    job.user = "researcher";
    job.partition = "compute";
    job.name = "job-" + std::to_string(ref.job);
    return job;
}

struct Fixture : CliFixture {
    Fixture() {
        auto experiment = job({5, 0}, JobState::running, 10, 0);
        experiment.comment = "det:1a2b3c4d/7";
        experiment.tres_per_node = "gres:gpu:4";
        auto stranger = job({6}, JobState::pending, 900, 3);
        stranger.partition = "cpu";
        stranger.name = "evil\x1b[31m\nname";
        slurm.other_jobs = {job({3}, JobState::pending, 100, 9),
                            job({8, 11}, JobState::pending, 100, 2),
                            job({8, 2}, JobState::pending, 100, 2),
                            stranger,
                            experiment,
                            job({9}, JobState::completing, 5, 1)};
    }
    std::string order(std::string const& options = "") {
        std::string ids;
        for (auto const& row : ask("job list" + (options.empty() ? "" : " " + options)))
            ids += row["id"].get<std::string>() + " ";
        return ids;
    }
};

}  // namespace job_list_test

BOOST_FIXTURE_TEST_SUITE(job_list_test, Fixture)

BOOST_AUTO_TEST_CASE(jobs_are_listed_in_scheduling_order) {
    // Jobs with nodes come first, then the others by priority and by number.
    BOOST_TEST(order() == "5_0 9 6 3 8_2 8_11 ");
}

BOOST_AUTO_TEST_CASE(the_queue_is_printed_as_a_table_or_json) {
    BOOST_TEST(run("job list") == 0);
    check_golden("cli/job_list.txt", out);
    BOOST_TEST(run("job list --json") == 0);
    check_golden("cli/job_list.json", out);
}

BOOST_AUTO_TEST_CASE(an_array_or_an_experiment_is_one_row_of_the_table) {
    create_example(root, 7, "tuning");
    auto const comment = "det:" + root_id(root) + "/7";
    slurm.other_jobs.clear();
    for (std::uint32_t task = 1; task <= 40; ++task) {
        auto trial = job({1200, task}, task <= 2 ? JobState::running : JobState::pending, 10, 0);
        trial.user = user_name(environment);
        trial.comment = comment;
        trial.tres_per_node = "gres:gpu:4";
        slurm.other_jobs.push_back(trial);
    }
    auto resubmitted = slurm.other_jobs.back();
    resubmitted.ref = {1207, 5};
    resubmitted.reason = "JobArrayTaskLimit";
    slurm.other_jobs.push_back(resubmitted);
    slurm.other_jobs.push_back(job({1208}, JobState::pending, 4'294'901'760 + 41, 0));
    slurm.other_jobs.push_back(job({1209}, JobState::pending, 4'294'901'760, 0));
    BOOST_TEST(run("job list") == 0);
    auto const rows = split_lines(out);
    BOOST_REQUIRE(rows.size() == 5u);
    BOOST_TEST(contains(rows[2], "0 | 1200_[1-40],1207_5 | 7 tuning   | experiment |"), out);
    BOOST_TEST(contains(rows[2], "| 16/328 "), out);
    BOOST_TEST(contains(rows[2], "| 2 running, 39 waiting |"), out);
    BOOST_TEST(contains(rows[2], "; "), out);  // both reasons
    BOOST_TEST(contains(rows[3], "| 1208 "), out);
    BOOST_TEST(contains(rows[3], "| 1        |                |"), out);  // an operator has set it
    BOOST_TEST(contains(rows[4], "| 42       | 4294901760     |"), out);  // computed
    for (auto const* option : {"-r", "--array"}) {
        BOOST_TEST(run(std::string("job list ") + option) == 0);
        BOOST_TEST(split_lines(out).size() == 2u + slurm.other_jobs.size());
        BOOST_TEST(contains(out, "| 1200_40 "), out);
    }
    BOOST_TEST(ask("job list").size() == slurm.other_jobs.size());
    BOOST_TEST(run("job list --limit 1") == 0);
    BOOST_TEST(split_lines(out).size() == 3u);
    BOOST_TEST(contains(out, "39 waiting"), out);
    BOOST_TEST(run("job list --reverse --offset 1 --limit 1") == 0);
    BOOST_TEST(contains(out, "| 1208 "), out);
    slurm.config = slurm::ClusterConfig({{"PriorityType", "priority/basic"}, {"SlurmUser", "slurm(64030)"}});
    BOOST_TEST(run("job list") == 0);
    BOOST_TEST(!contains(out, "42949"), out);
    BOOST_TEST(!contains(out, "Slurm Priority"), out);
}

BOOST_AUTO_TEST_CASE(the_start_of_a_job_behind_one_without_a_time_limit_is_unknown) {
    auto const in_days = [&](std::int64_t days) {
        return UtcTime{clock.now().microseconds + days * 24 * 3600 * 1'000'000};
    };
    auto endless = job({5}, JobState::running, 10, 0);
    endless.start_time = in_days(-1);
    auto waits = job({6}, JobState::pending, 10, 0);
    waits.start_time = in_days(364);
    auto soon = job({7}, JobState::pending, 9, 0);
    soon.start_time = in_days(2);
    slurm.other_jobs = {endless, waits, soon};
    auto const jobs = ask("job list");
    BOOST_TEST(jobs[1]["start_estimate"].is_null());
    BOOST_TEST(jobs[1]["start_unknown_because"] == "jobs before it have no time limit");
    BOOST_TEST(jobs[2]["start_estimate"] == format_utc(in_days(2)));
    BOOST_TEST(jobs[2]["start_unknown_because"].is_null());
    BOOST_TEST(run("job list") == 0);
    BOOST_TEST(contains(out, "| unknown "), out);
    BOOST_TEST(contains(err, "the expected start of a job is unknown if jobs before it have no time limit"),
               err);
}

BOOST_AUTO_TEST_CASE(control_bytes_of_a_job_name_are_escaped) {
    slurm.other_jobs.clear();
    for (auto const* name : {"new\n0 | 1 | TYPE_EXPERIMENT", "\x1b[2J\x1b]0;title\a", "right \u202eto left",
                             "\xff\xfe", "unit\x1fseparator\r", "\x9b\u009b"}) {
        slurm.other_jobs.push_back(
            job({static_cast<std::uint32_t>(30 + slurm.other_jobs.size())}, JobState::pending, 1, 1));
        slurm.other_jobs.back().name = name;
    }
    BOOST_TEST(run("job list") == 0);
    BOOST_TEST(split_lines(out).size() == 2 + slurm.other_jobs.size());
    for (auto const& line : split_lines(out)) BOOST_TEST(escape_control(line) == line, line);
}

BOOST_AUTO_TEST_CASE(jobs_of_one_pool_can_be_listed) {
    for (auto const* option : {"-p cpu", "--resource-pool cpu", "--resource-pool=cpu"}) {
        auto const jobs = ask(std::string("job list ") + option);
        BOOST_REQUIRE(jobs.size() == 1u);
        BOOST_TEST(jobs[0]["id"] == "6");
    }
    BOOST_TEST(run("job list -p nope") == to_int(ExitCode::bad_file));
    BOOST_TEST(contains(err, "there is no resource pool 'nope' in this cluster [no-such-pool]"), err);
    BOOST_TEST(contains(err, "hint: there is only compute"), err);
}

BOOST_AUTO_TEST_CASE(rows_can_be_selected) {
    BOOST_TEST(order("--limit 2") == "5_0 9 ");
    BOOST_TEST(order("--reverse --limit 2") == "8_11 8_2 ");
    BOOST_TEST(order("--user nobody") == "");
    BOOST_TEST(order("--offset 4") == "8_2 8_11 ");
    BOOST_TEST(order("--offset 1 --limit 2") == "9 6 ");
    BOOST_TEST(order("--offset 6") == "");
    BOOST_TEST(order("--limit 1 --pages all") == order());
    BOOST_TEST(order("--limit 1 --pages 1") == "5_0 ");
}

BOOST_AUTO_TEST_CASE(the_queue_is_printed_as_comma_separated_values) {
    slurm.other_jobs[0].name = "two, words";
    BOOST_TEST(run("job list --csv") == 0);
    auto const lines = split_lines(out);
    BOOST_REQUIRE(lines.size() == 7u);
    BOOST_TEST(lines[0].starts_with("#,ID,Experiment,Type,Job Name,"));
    BOOST_TEST(contains(lines[4], ",\"two, words\","));
    BOOST_TEST(run("job list --csv --yaml") == to_int(ExitCode::usage));
    BOOST_TEST(run("job list --table --json") == to_int(ExitCode::usage));
}

BOOST_AUTO_TEST_CASE(the_queue_is_printed_as_yaml) {
    auto const json = ask("job list");
    BOOST_TEST(run("job list --yaml") == 0);
    BOOST_TEST(yaml::to_json(must(yaml::parse_document(out, "answer"))) == json);
    BOOST_TEST(out.starts_with("- comment: det:1a2b3c4d/7\n"), out);
}

BOOST_AUTO_TEST_CASE(slots_are_gpus_or_the_cpus_of_a_pool_without) {
    slurm.partition_list.push_back(
        {"cpu", false, true, "OFF", std::chrono::seconds(0), {{4, 8, "idle", "(null)"}}});
    slurm.other_jobs[3].comment = "det:1a2b3c4d/8";  // whole nodes
    BOOST_TEST(ask("job list -p cpu")[0]["slots_needed"] == 16);
    slurm.other_jobs[3].comment = "";
    slurm.other_jobs[3].cpus = 3;
    BOOST_TEST(ask("job list -p cpu")[0]["slots_needed"] == 3);
    BOOST_TEST(ask("job list")[0]["slots_acquired"] == 8);
}

BOOST_AUTO_TEST_CASE(an_empty_queue_prints_a_header) {
    slurm.other_jobs.clear();
    BOOST_TEST(run("job list") == 0);
    BOOST_TEST(split_lines(out).size() == 2u);
}

BOOST_AUTO_TEST_CASE(without_slurm_the_queue_is_an_error) {
    slurm.is_down = true;
    BOOST_TEST(run("job list") == to_int(ExitCode::slurm_unreachable));
    BOOST_TEST(out == "");
}

BOOST_AUTO_TEST_SUITE_END()
