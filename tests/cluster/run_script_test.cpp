// A batch script of the user as an experiment, on a real Slurm: it behaves as with sbatch, and survives.
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

namespace run_script_test {

/// Two nodes of two slots. Each script has a directory of its own, in which it is submitted.
struct Site : LoopbackCluster {
    explicit Site(LoopbackOptions const& options = options_with(20)) : LoopbackCluster(options) {}

    static LoopbackOptions options_with(int grace_s) {
        LoopbackOptions options;
        options.slots = 2;
        options.grace_s = grace_s;
        options.plugin = LoopbackOptions::Plugin::when_built;
        return options;
    }
    void write_script(std::string const& name, std::string const& header, std::string const& body) const {
        shell("mkdir -p " + name);
        must(write_file(home() / "new", "#!/bin/bash\n" + header + body, 0755));
        shell(fmt::format("cp new {}/job.sbatch", name));
    }
    int create(std::string const& name, std::string const& arguments = "",
               std::string const& options = "") const {
        auto const answer = shell(fmt::format("cd {} && det-submit experiment create --json {} job.sbatch {}",
                                              name, options, arguments));
        return nlohmann::json::parse(answer)["id"].get<int>();
    }
    nlohmann::json ask(std::string const& command) const {
        return nlohmann::json::parse(shell("det-submit " + command + " --json"));
    }
    nlohmann::json describe(int experiment) const {
        return ask(fmt::format("experiment describe {}", experiment));
    }
    nlohmann::json runs(int experiment) const { return describe(experiment)["trials"][0]["runs"]; }
    void wait_for_state(int experiment, std::string const& state) const {
        wait_until([&] { return describe(experiment)["state"] == state; }, 120s,
                   fmt::format("experiment {} is {}", experiment, state));
    }
    bool has(std::string const& name, std::string const& file) const {
        return path_exists(home() / name / file);
    }
    void wait_for_file(std::string const& name, std::string const& file) const {
        wait_until([&] { return has(name, file); }, 60s, name + "/" + file);
    }
    /// The text of Slurm's output files in the script's directory, without what srun prints if the step
    /// before has not given back its CPUs yet, which depends on the load.
    std::string output(std::string const& name) const {
        return shell(
            fmt::format("sed '/^srun: .* step creation temporarily disabled/d; /^srun: Step created "
                        "for /d' {}/slurm-*.out",
                        name));
    }
    std::string logs(int experiment) const {
        return shell(fmt::format("det-submit trial logs {} || true", experiment));
    }
    std::string job_field(std::string const& field) const {
        return shell(fmt::format("scontrol --oneliner show job | tail -n 1 | grep -o '{}=[^ ]*'", field));
    }
    void preempt() const { shell("srun --partition urgent --nodes 2 true", 120s); }
};

bool contains(std::string const& text, std::string_view part) { return text.find(part) != std::string::npos; }

/// Runs the same script by sbatch and as an experiment, in directories of their own.
void run_both(Site const& site, std::string const& header, std::string const& body,
              std::string const& state = "COMPLETED") {
    site.write_script("plain", header, body);
    site.write_script("ours", header, body);
    site.shell("cd plain && sbatch --wait job.sbatch one 'two words' || true", 120s);
    site.wait_for_state(site.create("ours", "one 'two words'"), state);
}

}  // namespace run_script_test

BOOST_AUTO_TEST_SUITE(run_script_test)

BOOST_AUTO_TEST_CASE(a_script_sees_the_environment_that_sbatch_alone_gives_it) {
    Site const site;
    // What names a job, a process or a moment differs between any two jobs.
    std::string const keep =
        "env | grep -E '^(SLURM|SBATCH|PMI|OMPI)|^(PWD|HOME|PATH|USER|BASH_FUNC)' | "
        "grep -vE '^SLURM_(JOB_?ID|ARRAY_JOB_ID|TASK_PID|JOB_(START|END)_TIME|SUBMIT_TIME)=' | "
        "sed \"s#$SLURM_SUBMIT_DIR#SUBMITTED#g\" | sort";
    auto const compare = [&](std::string const& header, std::string const& name) {
        site.shell("rm -rf plain ours");
        run_both(
            site, header,
            fmt::format("{{ {}; pwd -P | sed 's#.*/##'; echo \"$# $1 $2\"; ulimit -a; umask; }} >\"{}\"\n",
                        keep, name));
        return std::pair(site.shell("cat plain/env*"), site.shell("cat ours/env*"));
    };
    auto const [plain, ours] =
        compare("#SBATCH --nodes=2 --ntasks-per-node=2\n#SBATCH --cpus-per-task=2 --time=10\n", "env");
    BOOST_TEST(contains(plain, "SLURM_NTASKS_PER_NODE=2"), plain);
    auto const without_directory = [](std::string text) {
        for (auto const* name : {"\nplain\n", "\nours\n"}) {
            if (auto const at = text.find(name); at != std::string::npos)
                text.replace(at, std::string_view(name).size(), "\nX\n");
        }
        return text;
    };
    BOOST_TEST(without_directory(plain) == without_directory(ours));
    auto const [plain_array, our_array] = compare("#SBATCH --array=1-7:3\n", "env-$SLURM_ARRAY_TASK_ID");
    BOOST_TEST(contains(plain_array, "SLURM_ARRAY_TASK_MAX=7"), plain_array);
    for (auto const* name : {"plain", "ours"})
        BOOST_TEST(site.shell(fmt::format("cd {} && echo env-*", name)) == "env-1 env-4 env-7");
    std::string one = plain_array, other = our_array;
    for (auto* text : {&one, &other}) {
        for (auto const* name : {"plain", "ours"}) {
            for (auto at = text->find(fmt::format("\n{}\n", name)); at != std::string::npos;
                 at = text->find(fmt::format("\n{}\n", name)))
                text->replace(at + 1, std::string_view(name).size(), "X");
        }
    }
    BOOST_TEST(one == other);
}

BOOST_AUTO_TEST_CASE(nested_steps_captured_output_and_background_steps_are_as_with_sbatch) {
    Site const site;
    run_both(site, "#SBATCH --nodes=2 --ntasks-per-node=2\n", R"sh(
exec 2>&1
greet() { echo "hello $1"; }
export -f greet
readlink /proc/self/fd/0
first=$(srun --nodes=1 --ntasks=1 hostname)
echo "first is $first"
srun hostname | sort
srun bash -c 'greet $SLURM_PROCID' | sort
srun --nodes=1 --ntasks=1 --exact bash -c 'sleep 0.2; echo one >one' &
srun --nodes=1 --ntasks=1 --exact bash -c 'sleep 0.2; echo two >two' &
wait
cat one two
srun --ntasks=4 cat -n <<END | sort
a line of a here-document
END
cd /tmp && pwd
for i in 1 2 3; do echo "out $i"; echo "err $i" >&2; done
unset SLURM_PROCID; echo "$0" | grep -c .
exit 3
)sh",
             "ERROR");
    auto const plain = site.output("plain");
    BOOST_TEST(contains(plain, "hello 3"), plain);
    BOOST_TEST(plain == site.output("ours"));
    // The log of the trial has the same lines.
    for (auto const line : split_lines(plain)) BOOST_TEST(contains(site.logs(1), line), line);
    BOOST_TEST(site.runs(1)[0]["exit_code"] == 3);
    BOOST_TEST(site.runs(1).size() == 1u);  // as with sbatch, it is not restarted
    BOOST_TEST(site.job_field("ExitCode") == "ExitCode=3:0");
    // What det-submit has to say is in the experiment's own file.
    BOOST_TEST(contains(site.shell("cat $DET_ROOT/experiments/1/slurm-*.out"), "run 1.0.0 begins"));
}

BOOST_AUTO_TEST_CASE(a_trap_is_told_at_the_begin_of_a_grace_period_and_the_script_goes_on_later) {
    Site const site;
    site.write_script("job", "#SBATCH --nodes=2\n", R"sh(
trap 'echo "saved with $(cat steps)"; kill $pid; exit 0' TERM
[ -e steps ] && { echo "goes on at $(cat steps), restart $SLURM_RESTART_COUNT"; exit 0; }
echo 41 >steps
sleep 300 & pid=$!
wait
)sh");
    auto const id = site.create("job");
    site.wait_for_file("job", "steps");
    site.preempt();
    site.wait_for_state(id, "COMPLETED");
    auto const output = site.output("job");
    BOOST_TEST(contains(output, "saved with 41\n"), output);
    BOOST_TEST(contains(output, "goes on at 41, restart 1"), output);
    auto const runs = site.runs(id);
    BOOST_REQUIRE(runs.size() == 2u);
    BOOST_TEST(runs[0]["cause"] == "preempted");
    BOOST_TEST(runs[1]["cause"] == "finished");
}

BOOST_AUTO_TEST_CASE(ranks_in_a_nested_step_that_handle_term_save_and_the_script_goes_on_later) {
    Site const site;
    site.write_script("job", "#SBATCH --nodes=2 --ntasks-per-node=1\n", R"sh(
cat >rank.py <<END
import os, signal, sys
signal.signal(signal.SIGTERM, lambda *_: (open("saved." + os.environ["SLURM_PROCID"], "w").close(), sys.exit(0)))
open("up." + os.environ["SLURM_PROCID"], "w").close()
while True: signal.pause()
END
if [ -e saved.0 ] && [ -e saved.1 ]; then echo "both have saved"; exit 0; fi
srun python3 rank.py
echo "srun has ended"
)sh");
    auto const id = site.create("job");
    site.wait_for_file("job", "up.0");
    site.wait_for_file("job", "up.1");
    site.preempt();
    site.wait_for_state(id, "COMPLETED");
    BOOST_TEST(contains(site.output("job"), "both have saved"), site.output("job"));
    BOOST_REQUIRE(site.runs(id).size() == 2u);
    BOOST_TEST(site.runs(id)[0]["cause"] == "preempted");
}

BOOST_AUTO_TEST_CASE(without_a_grace_period_a_trap_runs_and_an_untrapped_script_is_requeued) {
    Site const site(Site::options_with(0));
    site.write_script(
        "trapped", "#SBATCH --nodes=1\n",
        "trap 'touch saved; exit 0' TERM\n[ -e saved ] && exit 0\ntouch up; sleep 300 & wait\n");
    site.write_script("untrapped", "#SBATCH --nodes=1\n", "[ -e up ] && exit 0\ntouch up; sleep 300\n");
    auto const trapped = site.create("trapped"), untrapped = site.create("untrapped");
    site.wait_for_file("trapped", "up");
    site.wait_for_file("untrapped", "up");
    site.preempt();
    for (auto const id : {trapped, untrapped}) {
        site.wait_for_state(id, "COMPLETED");
        BOOST_REQUIRE(site.runs(id).size() == 2u);
        BOOST_TEST(site.runs(id)[0]["cause"] == "preempted");
    }
    BOOST_TEST(site.has("trapped", "saved"));
}

BOOST_AUTO_TEST_CASE(a_signal_of_the_header_reaches_the_trap_which_may_requeue_its_job) {
    Site const site;
    site.write_script("job", "#SBATCH --nodes=1 --time=2 --signal=B:USR1@100\n#SBATCH --open-mode=append\n",
                      R"sh(
trap 'echo "USR1"; touch saved; scontrol requeue $SLURM_JOB_ID; exit 0' USR1
[ -e saved ] && { echo "goes on, restart $SLURM_RESTART_COUNT"; exit 0; }
sleep 300 &
wait
)sh");
    auto const id = site.create("job");
    site.wait_until([&] { return site.has("job", "saved"); }, 90s, "USR1 comes");
    site.wait_for_state(id, "COMPLETED");
    auto const output = site.output("job");
    BOOST_TEST(contains(output, "USR1\n"), output);
    BOOST_TEST(contains(output, "goes on, restart 1"), output);  // and was queued again only once
    BOOST_REQUIRE(site.runs(id).size() == 2u);
    BOOST_TEST(site.runs(id)[0]["cause"] == "preempted");
}

BOOST_AUTO_TEST_CASE(killing_a_script_leaves_no_process_on_any_node) {
    Site const site;
    site.write_script("job", "#SBATCH --nodes=2 --ntasks-per-node=1\n", R"sh(
trap '' TERM
setsid sleep 54321 &
srun bash -c 'touch up.$SLURM_PROCID; trap "" TERM; while :; do sleep 54321; done'
)sh");
    auto const id = site.create("job");
    site.wait_for_file("job", "up.0");
    site.wait_for_file("job", "up.1");
    site.shell(fmt::format("det-submit experiment kill {}", id));
    site.wait_for_state(id, "CANCELED");
    site.wait_until([&] { return site.shell("squeue --noheader").empty(); }, 60s, "the job ends");
    BOOST_TEST(site.shell("srun --nodes=2 --ntasks=2 bash -c 'ps -ef | grep -c \"[s]leep 54321\" || true'") ==
               "0\n0");
}

BOOST_AUTO_TEST_CASE(a_script_that_may_be_restarted_is_restarted_in_its_job) {
    Site const site;
    site.write_script("job", "#SBATCH --nodes=2 --ntasks-per-node=1\n", R"sh(
echo "$SLURM_JOB_ID" >>jobs
[ "$(wc -l <jobs)" = 2 ] && exec srun hostname
srun --overlap sleep 300 &
sleep 1
exit 9
)sh");
    auto const id = site.create("job", "", "--config max_restarts=1");
    site.wait_for_state(id, "COMPLETED");
    BOOST_TEST(site.shell("sort -u job/jobs | wc -l") == "1");
    auto const runs = site.runs(id);
    BOOST_REQUIRE(runs.size() == 2u);
    BOOST_TEST(runs[0]["exit_code"] == 9);
    BOOST_TEST(runs[0]["follow"] == "restart-in-place");
}

BOOST_AUTO_TEST_CASE(a_script_that_submits_itself_is_one_trial_until_it_has_finished) {
    Site const site;
    site.write_script("job", "#SBATCH --nodes=2 --exclusive\n", R"sh(
n=$(cat part 2>/dev/null || echo 0)
echo $((n + 1)) >part
[ $n -lt 2 ] && sbatch job.sbatch
exit 0
)sh");
    auto const id = site.create("job");
    site.wait_for_state(id, "COMPLETED");
    BOOST_TEST(site.shell("cat job/part") == "3");
    BOOST_REQUIRE(site.runs(id).size() == 3u);
    auto const message = site.runs(id)[0]["message"].get<std::string>();
    BOOST_TEST(contains(message, "had submitted job"), message);
    BOOST_TEST(site.shell("squeue --noheader").empty());
}

BOOST_AUTO_TEST_CASE(a_successor_with_other_arguments_interrupts_the_trial) {
    Site const site;
    site.write_script("job", "#SBATCH --nodes=2 --exclusive\n",
                      "[ \"$1\" = second ] && exit 0\nsbatch --parsable job.sbatch second >successor\n");
    auto const id = site.create("job", "first");
    site.wait_for_state(id, "INTERRUPTED");
    auto const message = site.runs(id)[0]["message"].get<std::string>();
    BOOST_TEST(contains(message, "job " + site.shell("cat job/successor")), message);
}

BOOST_AUTO_TEST_CASE(steps_of_a_script_with_det_are_ranks_of_the_trial) {
    Site const site;
    site.write_script("job", "#SBATCH --det --nodes=2 --ntasks-per-node=2\n", R"sh(
srun bash -c 'echo rank $RANK of $WORLD_SIZE, trial $(grep -o "trial_id[^,]*" $DET_RUN_DIR/info/trial.json)' | sort
export MASTER_PORT=7777
srun --nodes=1 --ntasks=1 bash -c 'echo port $MASTER_PORT'
)sh");
    auto const id = site.create("job");
    site.wait_for_state(id, "COMPLETED");
    auto const output = site.output("job");
    BOOST_TEST(contains(output, fmt::format("rank 3 of 4, trial trial_id\": {}000000", id)), output);
    BOOST_TEST(contains(output, "port 7777"), output);
}

BOOST_AUTO_TEST_SUITE_END()
