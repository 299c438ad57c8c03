// `experiment create --running-job`: what `det-launch script` asks for in a job of sbatch.
#include <det/journal/event_log.hpp>
#include <det/protocol/array_job.hpp>
#include <det/slurm/resubmit_tasks.hpp>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include "continue_support.hpp"

using namespace det;
using namespace det::cli;

namespace running_job_test {

struct RunningJobFixture : ContinueFixture {
    std::string const script = (directory / "job.sbatch").string();

    RunningJobFixture() {
        must(write_file(script, "#!/bin/bash -e\n#SBATCH -N 2 --det-requeue\nsrun train --resume\n"));
        set({{"SLURM_JOB_ID", "55"},
             {"SLURM_JOB_NAME", "train"},
             {"SLURM_JOB_PARTITION", "compute"},
             {"SLURM_JOB_NUM_NODES", "3"},
             {"SLURM_NTASKS_PER_NODE", "4"}});
        show_job({55, {}});
    }
    void set(std::vector<std::pair<std::string, std::string>> const& variables) {
        for (auto const& [name, value] : variables) environment.set(name, value);
    }
    /// What Slurm says of the job, and the script that it has of it.
    void show_job(slurm::JobRef const& ref, std::string const& comment = "") {
        slurm::JobStatus job;
        job.ref = ref;
        job.state = slurm::JobState::running;
        job.name = "train";
        job.comment = comment;
        job.submit_time = UtcTime{1'700'000'000'000'000};
        job.start_time = UtcTime{1'700'000'060'000'000};
        job.end_time = UtcTime{1'700'000'060'000'000 + std::int64_t{90} * 60'000'000};
        slurm.job = job;
        slurm.scripts[ref.job].text = must(read_file(script)) + "\n" + std::string(1, '\0');
    }
    std::string comment_of(std::uint32_t id) const { return slurm::comment_of_jobs(spec(id)).value_or(""); }
    std::vector<std::string> command(std::string const& words = "") {
        BOOST_REQUIRE_MESSAGE(run("experiment create --running-job --json -- " + script + words) == 0, err);
        return parse_json(out)["command"].get<std::vector<std::string>>();
    }
    std::vector<std::string> last_words(std::vector<std::string> const& all) const {
        BOOST_REQUIRE(all.size() > 5);
        return {all.end() - 5, all.end()};
    }
    std::vector<ArrayJob> arrays(std::uint32_t id) const {
        return array_jobs_of(must(journal::load_events(experiment(id).events())));
    }
    bool has_option(std::string const& option, std::uint32_t id = 1) const {
        auto const options = spec(id).sbatch_options;
        return std::ranges::find(options, option) != options.end();
    }
};

}  // namespace running_job_test

BOOST_FIXTURE_TEST_SUITE(running_job_test, RunningJobFixture)

BOOST_AUTO_TEST_CASE(a_job_that_runs_becomes_an_experiment_and_is_submitted_nowhere) {
    auto const words = last_words(command(" data.csv --lr 0.1"));
    BOOST_TEST(words == (std::vector<std::string>{"trial", "--experiment", experiment(1).path().string(),
                                                  "--trial", "0"}),
               boost::test_tools::per_element());
    BOOST_TEST(slurm.submissions.empty());
    BOOST_TEST(slurm.calls.back() == "change 55 comment=" + comment_of(1) + " requeue=1");
    BOOST_TEST(comment_of(1).ends_with("/1"));
    BOOST_REQUIRE(arrays(1).size() == 1u);
    BOOST_TEST(arrays(1).front().job == 55u);
    BOOST_TEST(arrays(1).front().is_plain_job);
    auto const spec = this->spec(1);
    BOOST_TEST(spec.name == "train");
    BOOST_TEST(spec.shape.nodes == 3);  // as the job has, whatever the header says
    BOOST_TEST(spec.max_restarts == 0u);
    BOOST_TEST(must(read_file(experiment(1).batch_script())) == must(read_file(script)));
    BOOST_TEST(
        spec.entrypoint == (std::vector<std::string>{"/bin/bash", "-e", experiment(1).batch_script().string(),
                                                     "data.csv", "--lr", "0.1"}),
        boost::test_tools::per_element());
    BOOST_TEST(spec.batch_script->working_directory == std::filesystem::current_path().string());
    for (auto const* option : {"--nodes=3", "--ntasks-per-node=4", "--time=90", "--job-name=train"})
        BOOST_TEST(has_option(option), option);
    BOOST_TEST(!has_option("--det-requeue"));
}

BOOST_AUTO_TEST_CASE(a_job_that_was_queued_again_goes_on_with_its_experiment) {
    auto const first = command();
    show_job({55, {}}, comment_of(1));
    must(write_file(script, "#!/bin/sh\nchanged meanwhile\n"));
    BOOST_TEST(command() == first, boost::test_tools::per_element());
    BOOST_TEST(!path_exists(experiment(2).path()));
    BOOST_TEST(must(read_file(experiment(1).batch_script())).starts_with("#!/bin/bash -e\n"));
    // Its number may be that of another job later.
    show_job({55, {}});
    BOOST_TEST(last_words(command()).at(2) == experiment(2).path().string());
}

BOOST_AUTO_TEST_CASE(the_generated_script_of_an_experiment_runs_as_it_is) {
    (void)command();
    show_job({77, {}}, comment_of(1));  // a job that replaces the first one
    auto const generated = experiment(1).script().string();
    BOOST_TEST(run("experiment create --running-job --json -- " + generated) == 0, err);
    auto const answer = parse_json(out);
    BOOST_TEST(answer["path"] == "");
    BOOST_TEST(answer["command"].back() == generated);
}

BOOST_AUTO_TEST_CASE(an_array_is_one_experiment_and_its_task_a_trial) {
    must(write_file(script, "#!/bin/bash\n#SBATCH --array=2,3,7%2\ntrue\n"));
    set({{"SLURM_ARRAY_JOB_ID", "55"},
         {"SLURM_ARRAY_TASK_ID", "3"},
         {"SLURM_ARRAY_TASK_COUNT", "3"},
         {"SLURM_ARRAY_TASK_MIN", "2"},
         {"SLURM_ARRAY_TASK_MAX", "7"},
         {"SLURM_ARRAY_TASK_STEP", "1"}});
    show_job({55, 3});
    BOOST_TEST(last_words(command()).back() == "3");
    BOOST_TEST(spec(1).trial_count == 3u);
    BOOST_TEST(spec(1).batch_script->array_task_ids == (std::vector<std::uint32_t>{2, 3, 7}),
               boost::test_tools::per_element());
    BOOST_TEST(arrays(1).front().task_of(1) == 3u);
    BOOST_TEST(!arrays(1).front().is_plain_job);
    // Another task that has started at the same time sees no comment yet.
    environment.set("SLURM_ARRAY_TASK_ID", "7");
    show_job({55, 7});
    auto const words = last_words(command());
    BOOST_TEST(words.at(2) == experiment(1).path().string());
    BOOST_TEST(words.back() == "7");
    BOOST_TEST(!path_exists(experiment(2).path()));
}

BOOST_AUTO_TEST_CASE(an_array_of_sbatchs_command_line_is_known_if_its_tasks_are_equally_far) {
    set({{"SLURM_ARRAY_JOB_ID", "55"},
         {"SLURM_ARRAY_TASK_ID", "4"},
         {"SLURM_ARRAY_TASK_COUNT", "3"},
         {"SLURM_ARRAY_TASK_MIN", "0"},
         {"SLURM_ARRAY_TASK_MAX", "4"},
         {"SLURM_ARRAY_TASK_STEP", "2"}});
    show_job({55, 4});
    BOOST_TEST(last_words(command()).back() == "4");
    BOOST_TEST(spec(1).batch_script->array_task_ids == (std::vector<std::uint32_t>{0, 2, 4}),
               boost::test_tools::per_element());
    set({{"SLURM_ARRAY_JOB_ID", "56"}, {"SLURM_ARRAY_TASK_COUNT", "2"}});
    show_job({56, 4});
    BOOST_TEST(run("experiment create --running-job " + script) == to_int(ExitCode::bad_file));
    BOOST_TEST(contains(err, "which tasks the array of job 56 has is not known"), err);
    BOOST_TEST(!path_exists(experiment(2).path()));
}

BOOST_AUTO_TEST_CASE(a_plain_job_is_cancelled_by_its_number_alone) {
    (void)command();
    show_job({55, {}}, comment_of(1));
    BOOST_TEST(run("trial kill 1.0") == 0, err);
    BOOST_TEST(slurm.calls.back() == "cancel 55");
}

BOOST_AUTO_TEST_CASE(nothing_is_left_if_slurm_refuses_the_comment) {
    slurm.refused = {"change"};
    BOOST_TEST(run("experiment create --running-job " + script) == to_int(ExitCode::refused_by_slurm));
    BOOST_TEST(!path_exists(experiment(1).path()));
}

BOOST_AUTO_TEST_CASE(a_job_of_another_root_and_no_job_are_refused) {
    show_job({55, {}}, "det:00000000/4");
    BOOST_TEST(run("experiment create --running-job " + script) == to_int(ExitCode::usage));
    BOOST_TEST(contains(err, "'det:00000000/4'"), err);
    environment.unset("SLURM_JOB_ID");
    BOOST_TEST(run("experiment create --running-job " + script) == to_int(codes::not_in_slurm.exit));
    BOOST_TEST(run("experiment create --running-job --paused " + script) == to_int(ExitCode::usage));
}

BOOST_AUTO_TEST_SUITE_END()
