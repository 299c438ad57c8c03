// slurm.setup, slurm.working_directory and slurm.persist, with programs that do not use det-submit's API, on
// a real Slurm.
#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "check_result.hpp"
#include "loopback_cluster.hpp"

using namespace det;
using namespace std::chrono_literals;

namespace trial_files {

/// A cluster of two nodes, and a directory of code in the home of researcher.
struct Site : LoopbackCluster {
    Site() { shell("mkdir code"); }

    void code(std::string const& name, std::string const& text) const {
        must(write_file(home() / "new", text, 0755));
        shell(fmt::format("mkdir -p $(dirname code/{0}); cp new code/{0}", name));
    }
    nlohmann::json ask(std::string const& command) const {
        return nlohmann::json::parse(shell("det-submit " + command + " --json"));
    }
    int create(std::string const& config) const {
        must(write_file(home() / "exp.yaml",
                        "name: files\nsearcher: {name: single, metric: x, max_length: 1}\n" + config, 0644));
        return ask("experiment create exp.yaml code")["id"].get<int>();
    }
    void wait_for_state(int experiment, std::string const& wanted) const {
        wait_until(
            [&] { return ask(fmt::format("experiment describe {}", experiment)).at("state") == wanted; },
            120s, fmt::format("experiment {} is {}", experiment, wanted));
    }
    std::string logs(int experiment) const {
        return shell(
            fmt::format("for run in $(seq 0 9); do det-submit trial logs {} --run $run 2>/dev/null; "
                        "done; true",
                        experiment));
    }
    std::filesystem::path trial(int experiment) const {
        return shared() / "det/experiments" / std::to_string(experiment) / "trials/0";
    }
    /// The program counts in a file that it replaces, as a script does that saves its state.
    void counting_code() const {
        code("count.py",
             "import os, sys, time\n"
             "path, crash_at, end = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])\n"
             "n = int(open(path).read()) if os.path.exists(path) else 0\n"
             "print('begins at', n, 'in', os.getcwd(), flush=True)\n"
             "print('scratch is', os.path.exists('scratch'), flush=True)\n"
             "open('scratch', 'w').close()\n"
             "while n < end:\n"
             "    n += 1\n"
             "    with open(path + '.new', 'w') as file:\n"
             "        file.write(str(n))\n"
             "    os.replace(path + '.new', path)\n"
             "    if n == crash_at:\n"
             "        sys.exit(3)\n"
             "    time.sleep(0.1)\n");
    }
};

int count(std::string const& text, std::string_view part) {
    int found = 0;
    for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
    return found;
}

bool contains(std::string const& text, std::string_view part) { return text.find(part) != std::string::npos; }

constexpr char setup[] =
    "slurm:\n"
    "  slots_per_node: 2\n"
    "  setup:\n"
    "    - 'module() { export LOADED=\"$1 \\\"2\\\"\"; }; export -f module'\n"
    "    - module cuda\n"
    "    - source ~/venv/bin/activate\n"
    "    - export NODE=$SLURMD_NODENAME\n"
    "    - echo x >>\"$DET_TRIAL_DIR/ran-on-$NODE\"\n";

}  // namespace trial_files

BOOST_FIXTURE_TEST_SUITE(trial_files, Site)

BOOST_AUTO_TEST_CASE(every_rank_has_the_environment_of_the_setup_lines_which_ran_once_per_node) {
    shell("python3 -m venv --without-pip venv");
    code("show.py",
         "import os, sys\n"
         "print('rank sees', os.environ['LOADED'], os.environ['NODE'] == os.environ['SLURMD_NODENAME'], "
         "sys.prefix)\n");
    auto const seen = fmt::format("rank sees cuda \"2\" True {}/venv", shell("echo $HOME"));
    for (std::string const entrypoint :
         {"  launch: rank\nentrypoint: python3 show.py\n", "entrypoint: det-launch python3 show.py\n"}) {
        auto const id = create(std::string(setup) + entrypoint + "resources: {slots_per_trial: 4}\n");
        wait_for_state(id, "COMPLETED");
        BOOST_TEST(count(logs(id), seen) == 4, logs(id));
        for (auto const* node : {"n0", "n1"})
            BOOST_TEST(must(read_file(trial(id) / "files" / fmt::format("ran-on-{}", node))) == "x\n");
    }
    // A rank that a launcher starts on another node has the environment of that node's lines.
    code("start", "#!/bin/sh\ntest \"$SLURM_NODEID\" != 0 || det-rsh n1 python3 \"$PWD/show.py\"\n");
    auto const id = create(std::string(setup) + "entrypoint: ./start\nresources: {slots_per_trial: 4}\n");
    wait_for_state(id, "COMPLETED");
    BOOST_TEST(contains(logs(id), seen), logs(id));
}

BOOST_AUTO_TEST_CASE(a_setup_line_that_fails_is_the_reason) {
    auto const id = create(
        "slurm: {setup: ['export A=1', 'ls /no/such/directory']}\n"
        "entrypoint: echo never started\nmax_restarts: 1\n");
    wait_for_state(id, "ERROR");
    auto const trial_text = shell(fmt::format("det-submit trial describe {}", id));
    BOOST_TEST(contains(trial_text, "line 2 of slurm.setup failed with exit code 2: ls /no/such/directory"),
               trial_text);
    BOOST_TEST(contains(trial_text, "    ls: cannot access '/no/such/directory'"), trial_text);
    auto const experiment_text = shell(fmt::format("det-submit experiment describe {} --trials", id));
    BOOST_TEST(contains(experiment_text, "the trainer was not started: on n"), experiment_text);
    BOOST_TEST(contains(experiment_text, "/no/such/directory (ls: cannot access '/no/such/directory'"),
               experiment_text);
    BOOST_TEST(contains(experiment_text, "restart 1 of 1"), experiment_text);
    BOOST_TEST(!contains(logs(id), "never started"));
}

BOOST_AUTO_TEST_CASE(a_program_resumes_from_its_own_file_in_the_shared_working_directory) {
    counting_code();
    auto const id = create(
        "slurm: {working_directory: shared}\nentrypoint: python3 count.py state 10 40\n"
        "preemption_timeout: 2\nmax_restarts: 1\n");
    auto const state = [&] {
        auto const text = read_file(trial(id) / "work/state");
        return text ? parse_integer<int>(*text).value_or(0) : 0;
    };
    wait_until([&] { return state() > 12; }, 90s, "it counts after its failure");
    shell(fmt::format("det-submit experiment pause {}", id));
    wait_for_state(id, "PAUSED");
    auto const paused_at = state();
    BOOST_TEST(paused_at < 40);
    shell(fmt::format("det-submit experiment activate {}", id));
    wait_for_state(id, "COMPLETED");
    BOOST_TEST(state() == 40);
    auto const text = logs(id);
    BOOST_TEST(contains(text, "begins at 0 in"), text);
    BOOST_TEST(contains(text, "begins at 10 in"), text);
    BOOST_TEST(contains(text, fmt::format("begins at {} in", paused_at)), text);
    BOOST_TEST(count(text, fmt::format("experiments/{}/trials/0/generations/0/work", id)) == 3, text);
    BOOST_TEST(count(text, "scratch is True") == 2, text);
}

BOOST_AUTO_TEST_CASE(persistent_directories_survive_in_a_node_local_working_directory) {
    counting_code();
    code("out/checkpoints/state", "5");
    auto const id = create(
        "slurm: {persist: [out/checkpoints/]}\nentrypoint: python3 count.py out/checkpoints/state 10 12\n"
        "max_restarts: 1\n");
    wait_for_state(id, "COMPLETED");
    auto const text = logs(id);
    BOOST_TEST(contains(text, "begins at 5 in"), text);
    BOOST_TEST(contains(text, "begins at 10 in"), text);
    BOOST_TEST(count(text, "scratch is False") == 2, text);
    BOOST_TEST(must(read_file(trial(id) / "persist/out/checkpoints/state")) == "12");
}

BOOST_AUTO_TEST_CASE(a_search_leaves_six_or_seven_files_and_directories_for_each_trial) {
    code("train.py",
         "import determined as det\n"
         "with det.core.init() as core:\n"
         "    print('trains', flush=True)\n"
         "    core.train.report_validation_metrics(1, {'x': 0.5})\n");
    std::string const search =
        "searcher: {name: random, metric: x, max_trials: 12}\n"
        "hyperparameters: {a: {type: int, minval: 0, maxval: 9}}\n";
    // A job for each trial, and jobs that run several.
    struct Case {
        std::string slurm;
        int of_trial;  // one more for the claim of a trial
    };
    for (auto const& [slurm, of_trial] : {Case{"slurm: {slots_per_node: 1}\n", 6}, Case{"", 7}}) {
        must(write_file(
            home() / "search.yaml",
            "name: search\nentrypoint: python3 train.py\nresources: {slots_per_trial: 1}\n" + search + slurm,
            0644));
        auto const id = ask("experiment create search.yaml code")["id"].get<int>();
        wait_for_state(id, "COMPLETED");
        wait_until([&] { return ask("job list").empty(); }, 60s, "the jobs end");
        auto const directory = trial(id).parent_path().parent_path();
        auto const left = shell(fmt::format("cd {}; find . | sort", directory.string()));
        // The directory, trials, events, its file, submitted.yaml, config.yaml, spec.json, script.sbatch.
        constexpr int of_experiment = 8;
        BOOST_TEST(count(left + "\n", "\n") <= of_experiment + 12 * of_trial, left);
        for (auto const& each : ask(fmt::format("experiment describe {}", id)).at("trials"))
            BOOST_TEST(each.at("state") == "COMPLETED");
        BOOST_TEST(count(logs(id), "trains") == 1, logs(id));
    }
}

BOOST_AUTO_TEST_CASE(a_trial_that_is_paused_and_continued_has_its_files_and_a_later_run_gets_new_ones) {
    code("count.sh",
         "#!/bin/sh\n"
         "echo run $DET_TRIAL_RUN_ID finds $(ls \"$DET_TRIAL_DIR\")\n"
         "[ \"$1\" = unused ] || touch \"$DET_TRIAL_DIR/of-$DET_TRIAL_RUN_ID\"\n"
         "[ $DET_TRIAL_RUN_ID != 0 ] || [ \"$1\" = unused ] || while :; do sleep 0.1; done\n");
    auto const id = create("entrypoint: ./count.sh\npreemption_timeout: 1\n");
    wait_until([&] { return path_exists(trial(id) / "files/of-0"); }, 90s, "the program runs");
    shell(fmt::format("det-submit experiment pause {}", id));
    wait_for_state(id, "PAUSED");
    BOOST_TEST(path_exists(trial(id) / "files/of-0"));
    shell(fmt::format("det-submit experiment activate {}", id));
    wait_for_state(id, "COMPLETED");
    BOOST_TEST(contains(logs(id), "run 1 finds of-0"), logs(id));
    BOOST_TEST(path_exists(trial(id) / "files/of-1"));
    BOOST_TEST(!path_exists(trial(id) / "runs/1/rendezvous"));

    auto const unused = create("entrypoint: ./count.sh unused\n");
    wait_for_state(unused, "COMPLETED");
    BOOST_TEST(shell(fmt::format("ls {}", trial(unused).string())) == "runs");
    shell(fmt::format("det-submit experiment continue {} --config searcher.max_length=2", unused));
    wait_until([&] { return path_exists(trial(unused) / "runs/1"); }, 60s, "it is continued");
    wait_for_state(unused, "COMPLETED");
    BOOST_TEST(contains(logs(unused), "run 1 finds"), logs(unused));
    BOOST_TEST(shell(fmt::format("ls {}", trial(unused).string())) == "runs");
}

BOOST_AUTO_TEST_SUITE_END()
