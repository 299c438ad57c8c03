// A user's batch script as an experiment: it is submitted, and runs, as sbatch alone would do it.
#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "check_result.hpp"
#include "loopback_cluster.hpp"

using namespace det;
using namespace std::chrono_literals;

namespace batch_script_test {

struct Site : LoopbackCluster {
    Site() : LoopbackCluster(two_nodes()) { shell("mkdir work"); }

    static LoopbackOptions two_nodes() {
        LoopbackOptions options;
        options.nodes = 2;
        options.slots = 2;
        return options;
    }
    void write_script(std::string const& header, std::string const& body) const {
        must(write_file(home() / "work/job.sbatch", "#!/bin/bash\n" + header + body, 0644));
    }
    /// Submits the script by det-submit in its directory. Returns the experiment's number.
    int create(std::string const& arguments = "") const {
        return create_json("", arguments)["id"].get<int>();
    }
    nlohmann::json create_json(std::string const& options, std::string const& arguments = "") const {
        return nlohmann::json::parse(
            in_work("det-submit experiment create --json " + options + " job.sbatch " + arguments));
    }
    nlohmann::json ask(std::string const& command) const {
        return nlohmann::json::parse(in_work("det-submit " + command + " --json"));
    }
    /// Waits until no job is left that holds a node.
    void wait_for_empty_queue() const {
        wait_until([&] { return shell("squeue --noheader").empty(); }, 60s, "no job is left");
    }
    /// Runs a command in the script's directory with an exported function and a variable.
    std::string in_work(std::string const& command) const {
        return shell(
            "cd work && greet() { echo \"hello $1\"; } && export -f greet && export FLAVOUR=plain && " +
            command);
    }
    nlohmann::json describe(int experiment) const {
        return ask(fmt::format("experiment describe {}", experiment));
    }
    void wait_for_end(int experiment) const {
        wait_until([&] { return describe(experiment)["state"] == "COMPLETED"; }, 60s,
                   fmt::format("experiment {} completes", experiment));
    }
};

/// Prints all that a script sees of its job, without what differs between two jobs.
constexpr char print_surroundings[] =
    "pwd; printf '<%s>' \"$@\"; echo; greet you; echo $FLAVOUR; ulimit -n; umask\n"
    "env | grep -E '^(SLURM|SBATCH|SRUN)_' | grep -vE '_(JOB_?ID|TASK_PID|JOB_START_TIME|JOB_END_TIME)=' | "
    "sort\n"
    "srun --label bash -c 'echo $SLURM_NTASKS $SLURM_LOCALID $SLURM_STEP_TASKS_PER_NODE' | sort\n"
    "basename \"$0\"; scontrol show job $SLURM_JOB_ID | awk -F= '/Command=/{print $2}'\n"
    "nodes=$(srun --ntasks-per-node=1 --ntasks=$SLURM_JOB_NUM_NODES hostname | sort | xargs)\n"
    "echo \"$nodes\"; cat | wc -c\n";

/// Prints the output of a job. A job of one node may be on either.
constexpr char read_output[] = "cat *.out *.txt 2>/dev/null | sed -E 's/\\bn[01]\\b/node/g'";

}  // namespace batch_script_test

BOOST_FIXTURE_TEST_SUITE(batch_script_test, Site)

BOOST_AUTO_TEST_CASE(a_script_sees_what_it_sees_with_sbatch_alone) {
    for (std::string const header :
         {"#SBATCH --output=%x-%j.out\n",
          "#SBATCH -J train -N 2 --ntasks-per-node=2 --cpus-per-task=1 --time=5\n#SBATCH -o out-%j.txt "
          "--mem=100\n",
          "#SBATCH --nodes=2 --ntasks=3 --exclusive --signal=B:USR1@60 --output=out-%j.txt "
          "--export=ALL,MORE=1\n",
          "#SBATCH -n 2 --gres=gpu:2 --output=out-%j.txt --partition=urgent,compute --open-mode=append\n"}) {
        write_script(header, print_surroundings);
        in_work("rm -f *.out *.txt; sbatch --quiet --wait job.sbatch one --two 'two words'");
        auto const plain = in_work(read_output);
        in_work("rm -f *.out *.txt");
        wait_for_empty_queue();
        auto const experiment = create("one --two 'two words'");
        wait_for_end(experiment);
        auto const ours = in_work(read_output);
        BOOST_TEST(ours == plain, header << ours << "\n--- and with sbatch alone:\n" << plain);
        BOOST_TEST(plain.find("<one><--two><two words>") != std::string::npos, plain);
        BOOST_TEST(plain.find("hello you") != std::string::npos, plain);
        wait_for_empty_queue();
    }
}

BOOST_AUTO_TEST_CASE(the_tasks_of_an_array_have_the_scripts_own_numbers) {
    write_script("#SBATCH --array=1-7:3%2 --output=%x-%a.txt\n",
                 "env | grep '^SLURM_ARRAY_TASK' | sort; echo $1\n");
    in_work("sbatch --quiet --wait job.sbatch plain");
    auto const plain = in_work("tail -n +1 *.txt | sed s/plain//; rm *.txt");
    auto const experiment = create("ours");
    wait_for_end(experiment);
    BOOST_TEST(in_work("tail -n +1 *.txt | sed s/ours//") == plain);
    auto const trials = ask(fmt::format("experiment list-trials {}", experiment));
    BOOST_REQUIRE(trials.size() == 3u);
    for (auto const& trial : trials) {
        auto const task = trial["hyperparameters"]["SLURM_ARRAY_TASK_ID"].get<int>();
        auto const name = trial["name"].get<std::string>();
        BOOST_TEST(in_work(fmt::format("det-submit trial logs {} | grep -c SLURM_ARRAY_TASK_ID={}", name,
                                       task)) == "1",
                   name);
    }
    // Nothing is said of an array to a script that has none.
    write_script("", "env | grep -c SLURM_ARRAY; true\n");
    auto const single = create();
    wait_for_end(single);
    BOOST_TEST(in_work("ls slurm-*.out; cat slurm-*.out").ends_with("\n0"));
}

BOOST_AUTO_TEST_CASE(the_job_has_the_parameters_of_the_header) {
    write_script("#SBATCH -J train --chdir=sub --output=log-%j.txt --error=err-%j.txt --nice=7 --array=2,5\n",
                 "true\n");
    in_work("mkdir sub");
    auto const answer = create_json("--paused --config slurm.sbatch_args=--time=7");
    auto const job = answer["job_id"].get<std::string>();
    auto const shown = shell("scontrol --oneliner show job " + job);
    auto const work = (home() / "work").string();
    for (auto const& part :
         {std::string("JobName=train "), std::string("ArrayTaskId=2,5 "), std::string("Reason=JobHeldUser "),
          fmt::format("WorkDir={}/sub ", work), fmt::format("/sub/log-{}.txt", job), std::string("Nice=7 "),
          std::string("TimeLimit=00:07:00 "), std::string("Requeue=1 "), std::string("Comment=det:")})
        BOOST_TEST(shown.find(part) != std::string::npos, part << "\n" << shown);
    auto const spec = nlohmann::json::parse(
        must(read_file(std::filesystem::path(answer["path"].get<std::string>()) / "spec.json")))["body"];
    BOOST_TEST(spec["batch_script"]["working_directory"] == work + "/sub");
    BOOST_TEST(spec["batch_script"]["array_task_ids"] == (std::vector<int>{2, 5}));
    shell(fmt::format("det-submit experiment kill {}", answer["id"].get<int>()));
    wait_for_empty_queue();
}

BOOST_AUTO_TEST_CASE(a_script_that_is_activated_elsewhere_has_the_directory_of_its_first_submission) {
    write_script("#SBATCH --chdir=sub\n",
                 "echo $SLURM_SUBMIT_DIR $(pwd) >>dirs; [ -e again ] && exit 0\n"
                 "trap 'exit 0' TERM; touch up; sleep 300 & wait\n");
    in_work("mkdir -p sub");
    auto const experiment = create();
    auto const state = [&] { return describe(experiment)["state"]; };
    wait_until([&] { return path_exists(home() / "work/sub/up"); }, 60s, "the script runs");
    shell(fmt::format("det-submit experiment pause {}", experiment));
    wait_until([&] { return state() == "PAUSED"; }, 60s, "it is paused");
    shell(fmt::format("touch work/sub/again; cd / && det-submit experiment activate {}", experiment));
    wait_for_end(experiment);
    BOOST_TEST(in_work("sort -u sub/dirs | wc -l; wc -l <sub/dirs") == "1\n2", in_work("cat sub/dirs"));
}

BOOST_AUTO_TEST_CASE(variables_of_sbatch_count_as_with_sbatch_alone) {
    write_script("#SBATCH --partition=urgent --job-name=header\n",
                 "echo $SLURM_JOB_NAME $SLURM_JOB_PARTITION $SRUN_MINE; srun env | grep SRUN_MINE\n");
    std::string const variables =
        "SBATCH_PARTITION=compute SBATCH_JOB_NAME=variable SRUN_MINE=1 SBATCH_OUTPUT=%x-%a.out ";
    in_work(variables + "sbatch --quiet --wait job.sbatch");
    auto const plain = in_work("tail -n +1 *.out; rm *.out");
    wait_for_empty_queue();
    auto const created =
        nlohmann::json::parse(in_work(variables + "det-submit experiment create --json job.sbatch"));
    wait_for_end(created["id"].get<int>());
    BOOST_TEST(in_work("tail -n +1 *.out") == plain);
    BOOST_TEST(plain.find("variable compute 1") != std::string::npos, plain);
    wait_for_empty_queue();
}

BOOST_AUTO_TEST_CASE(a_script_that_slurm_refuses_leaves_nothing_behind) {
    write_script("#SBATCH --partition=absent\n", "true\n");
    auto const refused =
        login("researcher", {"bash", "-c", "cd ~/work && det-submit experiment create job.sbatch"});
    BOOST_TEST(refused.exit_code == 5, refused.err);
    BOOST_TEST(refused.err.find("nvalid partition") != std::string::npos, refused.err);
    BOOST_TEST(shell("squeue --noheader") == "");
    BOOST_TEST(ask("experiment list").empty());
}

BOOST_AUTO_TEST_SUITE_END()
