// What `create -f`, `wait`, `logs -f` and `top` show while an experiment waits in a real Slurm's queue, runs,
// ends and fails: through a pseudo-terminal, and through a pipe.
#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>

#include <boost/test/unit_test.hpp>
#include <csignal>
#include <fmt/format.h>

#include "check_result.hpp"
#include "loopback_cluster.hpp"
#include "test_paths.hpp"

using namespace det;
using namespace std::chrono_literals;

namespace live_status {

constexpr char removes_line[] = "\r\x1b[K";

/// A cluster of one node, which a job holds until the file "free" exists.
struct BusySite : LoopbackCluster {
    BusySite() : LoopbackCluster(options()) {
        for (auto const* name : {"in_terminal.py", "waits_for_file.py", "one_rank_fails.py"}) {
            auto const source = det::test::source_path(std::string("tests/cluster/programs/") + name);
            must(write_file(shared() / name, must(read_file(source)), 0644));
        }
        must(write_file(shared() / "job.yaml",
                        "name: watched\nentrypoint: python3 waits_for_file.py\n"
                        "hyperparameters: {waits_for: /nowhere, fails: false}\n"
                        "searcher: {name: single, metric: loss, max_length: {batches: 100}}\n"
                        "resources: {slots_per_trial: 1}\nmax_restarts: 0\n",
                        0644));
        shell("mkdir code && cp " + (shared() / "waits_for_file.py").string() + " code && cp " +
              (shared() / "job.yaml").string() + " .");
        shell(
            "printf '#!/bin/bash\\nwhile [ ! -e free ]; do sleep 0.1; done\\n' >blocker; "
            "sbatch --exclusive --output=/dev/null --chdir=$HOME blocker");
        wait_until([&] { return !shell("squeue --noheader --states=R").empty(); }, 30s, "the node is taken");
    }
    static LoopbackOptions options() {
        LoopbackOptions options;
        options.nodes = 1;
        return options;
    }

    std::string in_home(std::string const& file) const { return (home() / file).string(); }
    std::string hyperparameters(std::string const& waits_for, bool fails) const {
        return fmt::format("--config 'hyperparameters={{waits_for: {}, fails: {}}}'", in_home(waits_for),
                           fails);
    }
    std::string in_terminal(std::string const& command) const {
        return "python3 " + (shared() / "in_terminal.py").string() + " " + command;
    }
    /// A text that a command prints, and the file that is made then.
    struct Step {
        std::string printed, file;
    };
    /// Runs a command while the node is taken.
    ProcessOutput run(std::string const& command, std::vector<Step> const& steps) const {
        auto script = fmt::format("cd; ({}) >out 2>err & pid=$!\n", command);
        for (auto const& [printed, file] : steps)
            script += fmt::format(
                "until grep -q '{}' out err; do kill -0 $pid || break; sleep 0.1; done; touch {}\n", printed,
                file);
        script += "wait $pid; code=$?; cat out; cat err >&2; exit $code";
        return login("researcher", {"bash", "-c", script}, 120s);
    }
};

bool has(std::string const& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace live_status

BOOST_FIXTURE_TEST_SUITE(live_status, BusySite)

BOOST_AUTO_TEST_CASE(a_terminal_shows_the_queue_then_a_bar_then_the_result) {
    auto const output = run(in_terminal("det-submit experiment create job.yaml code -f --config "
                                        "hyperparameters.waits_for=" +
                                        in_home("go")),
                            {{"waits for nodes to become free", "free"}, {"step 50 of 100", "go"}});
    BOOST_TEST(output.exit_code == 0, output.out << output.err);
    BOOST_TEST(has(output.out, "code: 1 file, "), output.out);
    auto const queued =
        output.out.find(std::string(removes_line) + "experiment 1 is queued: position 1 of 1 in ");
    auto const bar = output.out.find("]  50 %  step 50 of 100, ");
    auto const result = output.out.find("experiment 1: COMPLETED in 0:");
    BOOST_TEST(queued != std::string::npos, output.out);
    BOOST_TEST(has(output.out, "waits for nodes to become free"), output.out);
    BOOST_REQUIRE_MESSAGE(bar != std::string::npos, output.out);
    BOOST_TEST(has(output.out.substr(bar, 100), "/s, "), output.out);
    BOOST_TEST(has(output.out.substr(bar, 100), "left, loss 0.02"), output.out);
    BOOST_REQUIRE_MESSAGE(result != std::string::npos, output.out);
    BOOST_TEST(has(output.out.substr(result, 100), ", loss 0.01 at step 100"), output.out);
    BOOST_TEST((queued < bar && bar < result), output.out);
}

BOOST_AUTO_TEST_CASE(a_pipe_gets_one_line_for_each_change_and_no_escape_sequences) {
    auto const output =
        run(fmt::format("det-submit experiment create job.yaml code {} && det-submit experiment wait 1",
                        hyperparameters("go", false)),
            {{"waits for nodes to become free", "free"}, {"experiment 1: RUNNING", "go"}});
    BOOST_TEST(output.exit_code == 0, output.out << output.err);
    BOOST_TEST(!has(output.err, "\x1b"), output.err);
    std::vector<std::string> lines;
    for (auto const line : split_lines(output.err)) {
        if (line.starts_with("experiment 1: ")) lines.emplace_back(line);
    }
    BOOST_REQUIRE_MESSAGE(lines.size() >= 3u, output.err);
    BOOST_TEST(lines.front().starts_with("experiment 1: QUEUED"), output.err);
    BOOST_TEST(has(output.err, "waits for nodes to become free (position 1 of 1 in "), output.err);
    BOOST_TEST(lines[lines.size() - 2] == "experiment 1: RUNNING", output.err);
    BOOST_TEST(lines.back().starts_with("experiment 1: COMPLETED in 0:"), output.err);
    for (std::size_t i = 1; i < lines.size(); ++i) BOOST_TEST(lines[i] != lines[i - 1]);
}

BOOST_AUTO_TEST_CASE(ctrl_c_says_what_goes_on_and_how_to_follow_it_again) {
    auto const output = login("researcher",
                              {"bash", "-c",
                               "cd; " + in_terminal("--interrupt-at 'is queued' det-submit experiment create "
                                                    "job.yaml code -f")},
                              60s);
    BOOST_TEST(output.exit_code == 128 + SIGINT, output.out << output.err);
    BOOST_TEST(has(output.out,
                   "experiment 1 goes on without this command; follow it again with 'det-submit logs "
                   "--follow 1', end it with 'det-submit stop 1'"),
               output.out);
    shell("touch free go");
    auto const waiting = login(
        "researcher",
        {"bash", "-c", "cd; " + in_terminal("--interrupt-at 'step 50 of 100' det-submit experiment wait 1")},
        60s);
    BOOST_TEST(waiting.exit_code == 128 + SIGINT, waiting.out << waiting.err);
    BOOST_TEST(has(waiting.out, "follow it again with 'det-submit experiment wait 1'"), waiting.out);
    BOOST_TEST(has(shell("det-submit status last 2>&1"), "Experiment 1: RUNNING"));
    shell("det-submit stop last");
}

BOOST_AUTO_TEST_CASE(a_failure_ends_with_the_traceback_of_the_rank_that_failed_first) {
    shell("touch free go");
    auto const output =
        login("researcher",
              {"bash", "-c",
               "cd; det-submit experiment create job.yaml code --config entrypoint='python3 one_fails.py'"},
              60s);
    // The file is not in the code: nothing was submitted.
    BOOST_TEST(output.exit_code == 4, output.err);
    BOOST_TEST(has(output.err, "the entrypoint starts 'one_fails.py', which is not in the code"), output.err);
    BOOST_TEST(has(output.err, "--config:1"), output.err);
    auto const failed = login("researcher",
                              {"bash", "-c",
                               "cd; det-submit experiment create job.yaml code " +
                                   hyperparameters("go", true) + " && det-submit experiment wait last"},
                              120s);
    BOOST_TEST(failed.exit_code == 1, failed.err);
    BOOST_TEST(has(failed.err, "experiment 1: ERROR in 0:"), failed.err);
    BOOST_TEST(has(failed.err, "Run 0: the entrypoint on n0 failed first"), failed.err);
    BOOST_TEST(has(failed.err, ": exit code 1\n    Traceback (most recent call last):\n"), failed.err);
    BOOST_TEST(has(failed.err, "    ValueError: this step can't be trained\n"), failed.err);
    BOOST_TEST(has(failed.err, "The whole log: det-submit trial logs 1.0"), failed.err);
    shell("cp " + (shared() / "one_rank_fails.py").string() + " code");
    auto const of_ranks =
        login("researcher",
              {"bash", "-c",
               "cd; det-submit experiment create job.yaml code -f --config entrypoint='det-launch python3 "
               "one_rank_fails.py' --config resources.slots_per_trial=4"},
              120s);
    BOOST_TEST(of_ranks.exit_code == 1, of_ranks.err);
    BOOST_TEST(has(of_ranks.err, "Run 0: rank 2 on n0 failed first: exit code 1\n    Traceback"),
               of_ranks.err);
    BOOST_TEST(has(of_ranks.err, "    ValueError: rank 2 has no data\n"), of_ranks.err);
}

BOOST_AUTO_TEST_CASE(following_a_search_ends_with_its_first_trial_and_says_that_the_others_go_on) {
    shell("touch free go-0");
    auto const output = login(
        "researcher",
        {"bash", "-c",
         "cd; det-submit experiment create job.yaml code -f --config 'searcher={name: grid, metric: loss}' "
         "--config 'hyperparameters={any: {type: categorical, vals: [1, 2]}, fails: true, waits_for: " +
             in_home("go-TRIAL") + "}'"},
        120s);
    BOOST_TEST(output.exit_code == 1, output.err);
    BOOST_TEST(has(output.err, "\ntrial 1.0: ERROR\n"), output.err);
    BOOST_TEST(has(output.err, "    ValueError: this step can't be trained\n"), output.err);
    BOOST_TEST(
        has(output.err, "\nthe other trials go on; wait for them with 'det-submit experiment wait 1'\n"),
        output.err);
    shell("det-submit stop last");
}

BOOST_AUTO_TEST_CASE(top_shows_running_trials_live_and_leaves_the_terminal_as_it_was) {
    shell("touch free");
    shell("det-submit experiment create job.yaml code --config hyperparameters.waits_for=" + in_home("go"));
    for (std::string const keys : {"--type-at ' 50 % ' q", "--interrupt-at ' 50 % '"}) {
        auto const live =
            login("researcher", {"bash", "-c", "cd; " + in_terminal(keys + " det-submit top")}, 60s);
        BOOST_TEST(live.exit_code == (keys.ends_with("q") ? 0 : 128 + SIGINT), live.out << live.err);
        BOOST_TEST(has(live.out, "\x1b[?1049h"), live.out);
        BOOST_TEST(has(live.out, "1 trial with nodes, 0 queued"), live.out);
        BOOST_TEST(has(live.out, "1.0 "), live.out);
        BOOST_TEST(has(live.out, "loss 0.02"), live.out);
        auto const left = live.out.rfind("\x1b[?1049l");
        BOOST_REQUIRE_MESSAGE(left != std::string::npos, live.out);
        BOOST_TEST(live.out.find("1.0 ", left) == std::string::npos, live.out);
    }
    auto const once = shell("det-submit top");
    BOOST_TEST(!has(once, "\x1b"), once);
    BOOST_TEST(has(once, "\n1.0   | watched | RUNNING | 50 %     | 50/100 | "), once);
    BOOST_TEST(has(once, " | loss 0.02 | "), once);
    shell("touch go && det-submit experiment wait 1");
    auto const empty = shell("det-submit top --once");
    BOOST_TEST(split_lines(empty).size() == 2u, empty);
}

BOOST_AUTO_TEST_SUITE_END()
