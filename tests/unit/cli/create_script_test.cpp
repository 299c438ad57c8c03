// `experiment create job.sbatch`: a batch script is an experiment.
#include <det/journal/event_log.hpp>
#include <det/protocol/array_job.hpp>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>
#include <sys/stat.h>

#include "continue_support.hpp"
#include "golden.hpp"

using namespace det;
using namespace det::cli;

namespace create_script_test {

struct ScriptFixture : ContinueFixture {
    std::string const script = (directory / "job.sbatch").string();

    void write_script(std::string const& header,
                      std::string const& body = "srun python train.py --resume\n") {
        must(write_file(script, "#!/bin/bash -e\n" + header + body));
    }
    int create_script(std::string const& options = "", std::string const& arguments = "") {
        return run("experiment create" + options + " " + script + arguments);
    }
    std::vector<std::string> const& submitted() { return slurm.submissions.back().options; }
    bool is_submitted_with(std::string const& option) {
        return std::ranges::find(submitted(), option) != submitted().end();
    }
    std::vector<ArrayJob> arrays(std::uint32_t id) {
        return array_jobs_of(must(journal::load_events(experiment(id).events())));
    }
    std::string with_names(std::string text) {
        for (auto const& [path, name] :
             {std::pair(directory.path().string(), std::string("DIRECTORY")),
              std::pair(std::filesystem::current_path().string(), std::string("HERE"))}) {
            for (auto at = text.find(path); at != std::string::npos; at = text.find(path))
                text.replace(at, path.size(), name);
        }
        return text;
    }
};

}  // namespace create_script_test

BOOST_FIXTURE_TEST_SUITE(create_script_test, ScriptFixture)

BOOST_AUTO_TEST_CASE(a_batch_script_is_copied_and_submitted_held_with_its_own_options) {
    write_script("#SBATCH -N 2 --ntasks-per-node=4 --time=10\n#SBATCH -J train\n");
    BOOST_TEST(create_script("", " data.csv --lr 0.1") == 0, err);
    BOOST_TEST(out == "Created experiment 1\n");
    auto const spec = this->spec(1);
    auto const copy = experiment(1).batch_script();
    BOOST_TEST(spec.entrypoint ==
                   (std::vector<std::string>{"/bin/bash", "-e", copy.string(), "data.csv", "--lr", "0.1"}),
               boost::test_tools::per_element());
    BOOST_TEST(must(read_file(copy)) == must(read_file(script)));
    struct stat info {};
    BOOST_REQUIRE(::stat(copy.c_str(), &info) == 0);
    BOOST_TEST((info.st_mode & 07777) == 0700u);
    BOOST_TEST(to_string(spec.launch) == "script");
    BOOST_REQUIRE(spec.batch_script.has_value());
    BOOST_TEST(spec.batch_script->working_directory == std::filesystem::current_path().string());
    BOOST_TEST(spec.batch_script->array_task_ids.empty());
    BOOST_TEST(spec.name == "train");
    BOOST_TEST(spec.max_restarts == 0u);
    BOOST_TEST(spec.shape.nodes == 2);
    BOOST_TEST(submitted().front() == "--hold");
    for (auto const* option : {"--nodes=2", "--ntasks-per-node=4", "--time=10", "--job-name=train",
                               "--output=slurm-%j.out", "--open-mode=append"})
        BOOST_TEST(is_submitted_with(option), option);
    // A replacement job gets the same options.
    BOOST_TEST(spec.sbatch_options == (std::vector<std::string>{submitted().begin() + 1, submitted().end()}),
               boost::test_tools::per_element());
    BOOST_TEST(slurm.calls.back() == "release 4711");
}

BOOST_AUTO_TEST_CASE(the_tasks_of_a_scripts_array_are_trials) {
    write_script("#SBATCH --array=1-9:4%2\n");
    BOOST_TEST(create_script() == 0, err);
    BOOST_TEST(spec(1).batch_script->array_task_ids == (std::vector<std::uint32_t>{1, 5, 9}),
               boost::test_tools::per_element());
    BOOST_TEST(spec(1).trial_count == 3u);
    BOOST_TEST(contains(must(read_file(experiment(1).script())), "#SBATCH --array=1-9:4%2\n"));
    BOOST_REQUIRE(arrays(1).size() == 1u);
    BOOST_TEST(arrays(1).front().task_of(1) == 5u);
    slurm::JobStatus task;
    task.ref = {4711, 5};
    task.comment = submitted().at(1).substr(std::string("--comment=").size());
    task.state = slurm::JobState::pending;
    slurm.other_jobs = {task};
    BOOST_TEST(run("trial kill 1.1") == 0, err);
    BOOST_TEST(slurm.calls.back() == "cancel 4711_5");
    auto const trials = ask("experiment list-trials 1");
    for (auto const& [trial, task_id] : {std::pair(0, 1), {1, 5}, {2, 9}})
        BOOST_TEST(trials[trial]["hyperparameters"]["SLURM_ARRAY_TASK_ID"] == task_id);
}

BOOST_AUTO_TEST_CASE(options_of_the_command_line_win_over_the_header_as_sbatchs_do) {
    write_script("#SBATCH -N 2 --time=10\n");
    BOOST_TEST(create_script(
                   " --config slurm.sbatch_args=--time=20 --config name=mine --config max_restarts=3") == 0,
               err);
    BOOST_TEST(is_submitted_with("--nodes=2"));
    auto const last = std::find(submitted().begin(), submitted().end(), "--time=20");
    BOOST_REQUIRE(last != submitted().end());
    BOOST_TEST((std::find(submitted().begin(), last, "--time=10") != last));
    BOOST_TEST(spec(1).name == "mine");
    BOOST_TEST(spec(1).max_restarts == 3u);
    BOOST_TEST(is_submitted_with("--job-name=job.sbatch"));
}

BOOST_AUTO_TEST_CASE(a_dry_run_shows_the_script_and_the_options_of_sbatch) {
    write_script("#SBATCH -N 2 --array=1,3\n#SBATCH --output=logs/%A.txt\n");
    BOOST_TEST(create_script(" --dry-run") == 0, err);
    auto shown = with_names(out);
    auto const comment = shown.find("det:");
    shown.replace(comment, shown.find('/', comment) - comment, "det:ROOT");
    auto const program = shown.find("exec ");
    auto const options = shown.find("\n# It is submitted with");
    BOOST_REQUIRE(options != std::string::npos);
    check_golden("cli/create_script_dry_run.txt", shown.substr(0, program) + shown.substr(options));
    BOOST_TEST(create_script(" --dry-run --json") == 0, err);
    BOOST_TEST(parse_json(out)["sbatch_options"].is_array());
    BOOST_TEST(!path_exists(experiment(1).path()));
}

BOOST_AUTO_TEST_CASE(what_a_preemption_costs_a_script_is_said) {
    write_script("#SBATCH -o log.txt\n", "srun python train.py\n");
    BOOST_TEST(create_script(" --dry-run") == 0, err);
    BOOST_TEST(contains(err, "no checkpoint of '"), err);
    BOOST_TEST(contains(err, "'log.txt' is overwritten when the job starts"), err);
    write_script("#SBATCH -o log.txt --open-mode=append\n", "python train.py --ckpt last\n");
    BOOST_TEST(create_script(" --dry-run") == 0, err);
    BOOST_TEST(err == "");
    write_script("", "srun python train.py\n");
    BOOST_TEST(create_script(" --config slurm.progress_glob=models/*.bin") == 0, err);
    BOOST_TEST(!contains(err, "no checkpoint"), err);
    BOOST_TEST(spec(1).progress_globs.front() == std::filesystem::current_path().string() + "/models/*.bin");
}

BOOST_AUTO_TEST_CASE(a_script_can_be_checked_and_explained) {
    write_script("#SBATCH -N 2 --hold\n");
    BOOST_TEST(run("config check " + script) == 0, err);
    BOOST_TEST(contains(err, "job.sbatch:2:14: warning: --hold has no effect"), err);
    BOOST_TEST(!contains(err, "srun"), err);
    BOOST_TEST(run("config show " + script + " --explain") == 0, err);
    BOOST_TEST(contains(out, "--nodes=2"), out);
    BOOST_TEST(contains(with_names(out), "DIRECTORY/job.sbatch:2\n"), out);
    write_script("#SBATCH hetjob\n");
    BOOST_TEST(run("config check " + script) == to_int(ExitCode::bad_file));
    BOOST_TEST(create_script() == to_int(ExitCode::bad_file));
    BOOST_TEST(slurm.submissions.empty());
}

BOOST_AUTO_TEST_CASE(what_makes_no_sense_for_a_batch_script_is_refused) {
    write_script("");
    for (auto const* options : {" --when", " --host login", " --test", " -i code", " --config entrypoint=x",
                                " --config slurm.launch=rank"}) {
        BOOST_TEST(create_script(options) != 0, options);
        BOOST_TEST(contains(err, "error: "), options << ": " << err);
    }
    must(write_file(directory / "exp.yaml", config_text() + "slurm: {batch_script: /job.sbatch}\n"));
    BOOST_TEST(create() == to_int(ExitCode::bad_file));
    BOOST_TEST(contains(err, "slurm.batch_script is set by"), err);
    must(write_file(directory / "exp.yaml", config_text()));
    BOOST_TEST(create(" more words") == to_int(ExitCode::usage));
    BOOST_TEST(slurm.submissions.empty());
}

BOOST_AUTO_TEST_CASE(keys_that_the_header_decides_have_no_effect) {
    write_script("");
    BOOST_TEST(create_script(" --dry-run --config resources.slots_per_trial=4 --config slurm.mpi=pmix") == 0,
               err);
    BOOST_TEST(
        contains(err, "'resources.slots_per_trial' has no effect: the header of the batch script says it"),
        err);
    BOOST_TEST(contains(err, "'slurm.mpi' has no effect"), err);
}

BOOST_AUTO_TEST_CASE(a_fork_runs_the_recorded_script_again) {
    write_script("#SBATCH --array=2,4\n");
    BOOST_TEST(create_script("", " one") == 0, err);
    must(write_file(script, "#!/bin/sh\nexit 1\n"));
    BOOST_TEST(run("experiment fork 1 --config slurm.sbatch_args=--time=5") == 0, err);
    BOOST_TEST(must(read_file(experiment(2).batch_script())) ==
               must(read_file(experiment(1).batch_script())));
    BOOST_TEST(spec(2).entrypoint == (std::vector<std::string>{"/bin/bash", "-e",
                                                               experiment(2).batch_script().string(), "one"}),
               boost::test_tools::per_element());
    BOOST_TEST(spec(2).batch_script->array_task_ids == (std::vector<std::uint32_t>{2, 4}),
               boost::test_tools::per_element());
    BOOST_TEST(is_submitted_with("--time=5"));
}

BOOST_AUTO_TEST_CASE(the_failed_tasks_of_a_scripts_array_are_continued_by_their_numbers) {
    write_script("#SBATCH --array=2,4,6\n");
    BOOST_TEST(create_script() == 0, err);
    run_trial(0, finish(5));
    run_trial(1, run_end(6, Cause::failed, NextAction::stop, 9, "the trainer ended with exit code 9"));
    run_trial(2, finish(7));
    must(write_file(script, "#!/bin/sh\nexit 1\n"));
    BOOST_TEST(run("experiment continue 1") == 0, err);
    BOOST_TEST(submitted().back() == "--array=4");
    BOOST_TEST(spec(1).entrypoint.back() == experiment(1).batch_script().string());
    BOOST_TEST(must(read_file(experiment(1).batch_script())).starts_with("#!/bin/bash -e\n"));
}

BOOST_AUTO_TEST_CASE(nothing_is_left_if_slurm_refuses_a_script) {
    write_script("#SBATCH -N 2\n");
    slurm.refused = {"test"};
    BOOST_TEST(create_script() == 0, err);  // sbatch itself decides
    slurm.refused = {"test", "submit"};
    BOOST_TEST(create_script() == to_int(ExitCode::refused_by_slurm));
    BOOST_TEST(!path_exists(experiment(2).path()));
}

BOOST_AUTO_TEST_CASE(a_script_of_a_configuration_runs_its_entrypoint_as_one) {
    must(write_file(directory / "exp.yaml", config_text() + "slurm: {launch: script}\n"));
    BOOST_TEST(create() == 0, err);
    BOOST_TEST(to_string(spec(1).launch) == "script");
    BOOST_REQUIRE(spec(1).batch_script.has_value());
    BOOST_TEST(spec(1).batch_script->working_directory == "");
    BOOST_TEST(is_submitted_with("--chdir=/"));
    BOOST_TEST((spec(1).working_directory == WorkingDirectory::node_local) == (spec(1).shape.nodes == 1));
}

BOOST_AUTO_TEST_CASE(all_words_after_a_script_are_its_arguments_as_with_sbatch) {
    write_script("");
    BOOST_TEST(create_script(" --config name=mine", " --config train.yaml -p 2 --json --help -- x") == 0,
               err);
    auto const words = spec(1).entrypoint;
    BOOST_TEST(
        std::vector<std::string>(words.begin() + 3, words.end()) ==
            (std::vector<std::string>{"--config", "train.yaml", "-p", "2", "--json", "--help", "--", "x"}),
        boost::test_tools::per_element());
    BOOST_TEST(spec(1).name == "mine");
    BOOST_TEST(out == "Created experiment 1\n");
    BOOST_TEST(contains(err, "'--json' is an argument of the batch script"), err);
    BOOST_TEST(!contains(err, "'--config' is"), err);
    BOOST_TEST(create_script("", " --config max_restarts=3") == 0, err);
    BOOST_TEST(contains(err, "'--config' is an argument of the batch script"), err);
    BOOST_TEST(spec(2).max_restarts == 0u);
    // Options may stand after a configuration.
    must(write_file(directory / "exp.yaml", config_text()));
    BOOST_TEST(create(" --dry-run") == 0, err);
    auto const refused = must_fail(parse_command_line({"e", "create", "--unheard-of", "3", script}));
    BOOST_TEST(refused.hint == "the arguments of a batch script stand after its name");
}

BOOST_AUTO_TEST_CASE(variables_of_sbatch_win_over_the_header_and_not_over_the_command_line) {
    write_script("#SBATCH --partition=gpu --time=10 --job-name=train\n");
    environment.set("SBATCH_PARTITION", "big");
    environment.set("SBATCH_TIMELIMIT", "30");
    environment.set("SBATCH_EXCLUSIVE", "");
    environment.set("SBATCH_WAIT", "1");
    BOOST_TEST(create_script(" --config slurm.sbatch_args=--time=20") == 0, err);
    auto const position = [&](char const* option) {
        return std::ranges::find(submitted(), option) - submitted().begin();
    };
    BOOST_TEST(position("--partition=gpu") < position("--partition=big"));
    BOOST_TEST(is_submitted_with("--partition=big"));
    BOOST_TEST(position("--time=10") < position("--time=30"));
    BOOST_TEST(position("--time=30") < position("--time=20"));
    BOOST_TEST(is_submitted_with("--time=20"));
    BOOST_TEST(is_submitted_with("--exclusive"));
    BOOST_TEST(!is_submitted_with("--wait"));
    BOOST_TEST(run("config show --explain " + script) == 0, err);
    BOOST_TEST(contains(out, "--partition=big"), out);
}

BOOST_AUTO_TEST_CASE(the_directory_of_the_submission_is_recorded) {
    write_script("#SBATCH --chdir=sub\n");
    BOOST_TEST(create_script() == 0, err);
    auto const here = std::filesystem::current_path().string();
    BOOST_TEST(spec(1).batch_script->working_directory == here + "/sub");
    BOOST_TEST(spec(1).batch_script->submit_directory == here);
    BOOST_TEST(run("experiment fork 1") == 0, err);
    BOOST_TEST(spec(2).batch_script->submit_directory == here);
    BOOST_TEST(spec(2).batch_script->working_directory == here + "/sub");
}

BOOST_AUTO_TEST_SUITE_END()
