// A job of sbatch that becomes an experiment by one line in its script, or by `#SBATCH --det-requeue`.
#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "check_result.hpp"
#include "loopback_cluster.hpp"

using namespace det;
using namespace std::chrono_literals;

namespace script_in_job_test {

/// The line of a script that makes its job an experiment, where the site has no plugin.
constexpr char line[] = "[ \"$DET_RUN_JOB\" = \"$SLURM_JOB_ID\" ] || exec det-launch script \"$0\" \"$@\"\n";
constexpr char option[] = "#SBATCH --det-requeue\n";

/// Writes its first steps, is ended by the preemption, and goes on at the second start.
constexpr char training[] = R"sh(
echo "start $((${SLURM_RESTART_COUNT:-0} + 1)): $1, $2"
step=$(cat checkpoint 2>/dev/null || echo 0)
while [ $step -lt 30 ]; do
    step=$((step + 1)); echo $step >checkpoint
    echo "step $step" >>steps
    [ $step = 10 ] && { trap 'exit 0' TERM; touch half; sleep 300 & wait; exit 1; }
done
echo "done after $step steps"
)sh";

struct Site : LoopbackCluster {
    Site() : LoopbackCluster(options()) { shell("mkdir work"); }

    static LoopbackOptions options() {
        LoopbackOptions options;
        options.slots = 2;
        options.grace_s = 10;
        options.plugin = LoopbackOptions::Plugin::when_built;
        return options;
    }
    void write_script(std::string const& name, std::string const& text) const {
        must(write_file(home() / "work" / name, "#!/bin/bash\n" + text, 0755));
    }
    std::string in_work(std::string const& command, std::chrono::milliseconds timeout = 60s) const {
        return shell("cd work && " + command, timeout);
    }
    nlohmann::json ask(std::string const& command) const {
        return nlohmann::json::parse(shell("det-submit " + command + " --json"));
    }
    nlohmann::json describe(int experiment) const {
        return ask(fmt::format("experiment describe {}", experiment));
    }
    nlohmann::json runs(int experiment, int trial = 0) const {
        return describe(experiment)["trials"][trial]["runs"];
    }
    std::size_t count_experiments() const { return ask("experiment list").size(); }
    void wait_for_file(std::string const& name) const {
        wait_until([&] { return path_exists(home() / "work" / name); }, 60s, "file " + name);
    }
    void wait_for_state(int experiment, std::string const& state) const {
        wait_until([&] { return count_experiments() > 0 && describe(experiment)["state"] == state; }, 120s,
                   fmt::format("experiment {} is {}", experiment, state));
    }
    void wait_for_empty_queue() const {
        wait_until([&] { return shell("squeue --noheader").empty(); }, 120s, "no job is left");
    }
    void preempt() const { shell("srun --quiet --partition urgent --nodes 2 true", 120s); }
    /// The plugin is built for this release of Slurm.
    bool has_plugin() const { return shell("sbatch --help | grep -c -e --det-requeue || true") != "0"; }
};

bool contains(std::string const& text, std::string_view part) { return text.find(part) != std::string::npos; }

/// A job of sbatch is preempted once, and goes on: one experiment with two runs.
void check_preempted_job(Site const& site, std::string const& script, int experiment) {
    site.in_work("rm -rf * && mkdir logs");
    site.write_script("job.sh", script);
    auto const job = site.in_work(
        "sbatch --parsable --no-requeue --open-mode=append --output=logs/%x-%j.out job.sh one 'two words'");
    site.wait_for_file("half");
    BOOST_TEST(contains(site.shell("scontrol show job " + job), "Requeue=1"));
    site.preempt();
    site.wait_for_state(experiment, "COMPLETED");
    // Slurm 24.11 queues a job again that was preempted in an earlier run, also if it ends by itself.
    site.wait_until([&] { return site.shell("squeue --noheader --states RUNNING,COMPLETING").empty(); }, 60s,
                    "the job has ended");
    site.shell("scancel " + job + " || true");
    site.wait_for_empty_queue();
    auto const output = site.in_work("cat logs/job.sh-" + job + ".out");
    BOOST_TEST(contains(output, "start 1: one, two words\n"), output);
    BOOST_TEST(contains(output, "start 2: one, two words\ndone after 30 steps"), output);
    BOOST_TEST(site.in_work("sort -u steps | wc -l") == "30");
    auto const runs = site.runs(experiment);
    BOOST_REQUIRE(runs.size() == 2u);
    BOOST_TEST(runs[0]["cause"] == "preempted");
    BOOST_TEST(runs[1]["cause"] == "finished");
    auto const experiments = site.ask("experiment list");
    BOOST_TEST(experiments.size() == static_cast<std::size_t>(experiment));
    auto const described = site.describe(experiment);
    BOOST_TEST(described["name"] == "job.sh");
    BOOST_TEST(site.shell(fmt::format("ls $DET_ROOT/experiments/{}/slurm-{}.out | wc -l", experiment, job)) ==
               "1");
    auto const life =
        site.shell(fmt::format("det-submit dump $DET_ROOT/experiments/{}/trials/0/runs/1/life", experiment));
    BOOST_TEST(contains(life, "\"restarts\":0"), life);  // none is counted
    BOOST_TEST(contains(site.shell(fmt::format("det-submit trial logs {}.0", experiment)), "done after 30"));
}

}  // namespace script_in_job_test

BOOST_FIXTURE_TEST_SUITE(script_in_job_test, Site)

BOOST_AUTO_TEST_CASE(a_job_of_sbatch_goes_on_after_a_preemption_by_one_line_or_one_option) {
    check_preempted_job(*this, line + std::string(training), 1);
    BOOST_REQUIRE_MESSAGE(has_plugin(), "the plugin is not built for this release of Slurm");
    check_preempted_job(*this, option + std::string(training), 2);
}

BOOST_AUTO_TEST_CASE(a_job_goes_on_beyond_its_time_limit) {
    // The script that Slurm has only calls the one that trains.
    write_script("train.sh", training);
    write_script("job.sh",
                 "#SBATCH --time=1 --open-mode=append --output=out\nexec det-launch script train.sh a b\n");
    in_work("sbatch --quiet job.sh");
    wait_for_file("half");
    wait_for_state(1, "COMPLETED");
    auto const output = in_work("cat out");
    BOOST_TEST(contains(output, "start 2: a, b\ndone after 30 steps"), output);
    BOOST_REQUIRE(runs(1).size() == 2u);
    BOOST_TEST(runs(1)[0]["cause"] == "time-limit");
    BOOST_TEST(count_experiments() == 1u);
}

BOOST_AUTO_TEST_CASE(an_array_is_one_experiment_with_a_trial_for_each_task) {
    auto const body = std::string("env | grep ^SLURM_ARRAY_TASK_ | sort >task-$SLURM_ARRAY_TASK_ID\n");
    write_script("plain.sh", body);
    write_script("job.sh", line + body);
    in_work("mkdir plain && cd plain && sbatch --quiet --wait --array=1-5:2 ../plain.sh", 120s);
    in_work("mkdir ours && cd ours && sbatch --quiet --wait --array=1-5:2 ../job.sh", 120s);
    wait_for_state(1, "COMPLETED");
    BOOST_TEST(in_work("cat ours/task-*") == in_work("cat plain/task-*"));
    BOOST_TEST(count_experiments() == 1u);
    auto const trials = ask("experiment list-trials 1");
    BOOST_REQUIRE(trials.size() == 3u);
    for (auto const& trial : trials) BOOST_TEST(trial["state"] == "COMPLETED");
    BOOST_TEST(trials[2]["hyperparameters"]["SLURM_ARRAY_TASK_ID"] == 5);
}

BOOST_AUTO_TEST_CASE(a_job_of_sbatch_is_paused_activated_and_killed) {
    write_script("job.sh", line + std::string("touch start-${SLURM_RESTART_COUNT:-0}; trap 'exit 0' TERM; "
                                              "sleep 300 & wait\n"));
    auto const job = in_work("sbatch --parsable job.sh");
    wait_for_file("start-0");
    shell("det-submit experiment pause 1");
    wait_for_state(1, "PAUSED");
    wait_until([&] { return shell("squeue --noheader --format %T --jobs " + job) == "PENDING"; }, 60s,
               "the job waits");
    shell("det-submit experiment activate 1");
    wait_for_file("start-1");
    shell("det-submit experiment kill 1");
    wait_for_state(1, "CANCELED");
    wait_for_empty_queue();
    BOOST_TEST(runs(1)[0]["cause"] == "paused");
}

BOOST_AUTO_TEST_CASE(what_is_no_job_of_sbatch_alone_makes_no_experiment) {
    write_script("true.sh", "echo it runs\n");
    auto const output_of = [&](std::string const& script) {
        write_script("job.sh", script);
        return in_work("rm -f out; sbatch --quiet --wait --output=out job.sh; cat out", 120s);
    };
    auto const in_step = output_of("srun --ntasks=1 det-launch script true.sh\nexit 0\n");
    BOOST_TEST(contains(in_step, "this is a step of srun"), in_step);
    auto const without_exec = output_of("det-launch script true.sh\nexit 0\n");
    BOOST_TEST(contains(without_exec, "call it with exec"), without_exec);
    BOOST_TEST(count_experiments() == 0u);
    // An experiment's script stays one experiment, with the line, and with the option in its header.
    auto const header = has_plugin() ? std::string(option) : "";
    write_script("job.sh", header + line +
                               "echo \"in experiment $DET_EXPERIMENT_ID\"\nexec det-launch script true.sh\n");
    in_work("det-submit experiment create job.sh");
    wait_for_state(1, "COMPLETED");
    BOOST_TEST(in_work("cat slurm-*.out") == "in experiment 1\nit runs");
    BOOST_TEST(count_experiments() == 1u);
    BOOST_TEST(runs(1).size() == 1u);
}

BOOST_AUTO_TEST_CASE(with_det_and_det_requeue_steps_are_ranks_of_the_trial) {
    if (!has_plugin()) return;
    write_script("job.sh",
                 "#SBATCH --det --det-requeue --nodes=2 --ntasks-per-node=2 --output=out\n"
                 "srun bash -c 'echo rank $RANK of $WORLD_SIZE'\n");
    in_work("sbatch --quiet --wait job.sh", 120s);
    auto const output = in_work("sort out");
    BOOST_TEST(contains(output, "[rank=3] rank 3 of 4"), output);
    wait_for_state(1, "COMPLETED");
    BOOST_TEST(runs(1).size() == 1u);
}

BOOST_AUTO_TEST_SUITE_END()
