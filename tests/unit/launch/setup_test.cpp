// The script that runs the lines of slurm.setup.
#include <det/foundation/files.hpp>
#include <det/foundation/process.hpp>
#include <det/foundation/text.hpp>
#include <det/protocol/setup_lines.hpp>
#include <det/protocol/task_identity.hpp>

#include <boost/test/unit_test.hpp>
#include <future>

#include "check_result.hpp"
#include "temporary_directory.hpp"
#include "test_paths.hpp"

using namespace det;

namespace setup_test {

using Lines = std::vector<std::string>;

/// A DET_RUN_DIR with lines of slurm.setup.
struct Fixture {
    TemporaryDirectory run_dir;

    Fixture() {
        must(make_directory(run_dir / "setup"));
        auto const script = det::test::source_path("runtime/launch/supervisor/src/setup.bash");
        must(write_file(run_dir / "setup/run", must(read_file(script))));
    }
    void lines_are(Lines const& lines) const {
        std::string text;
        for (auto const& line : lines) text += line + '\0';
        must(write_file(run_dir / "setup/lines", text));
    }
    /// Runs a shell command as a task of the run does.
    ProcessOutput task(std::string const& command, Variables const& variables = {}) const {
        auto environment = Environment::of_this_process();
        environment.set("DET_RUN_DIR", run_dir.path());
        for (auto const& [name, value] : variables) environment.set(name, value);
        auto argv = setup_command_prefix();
        argv.insert(argv.end(), {"bash", "-c", command, "name", "an argument"});
        SystemProcessRunner runner;
        return must(runner.run({argv, environment, std::chrono::seconds(60)}));
    }
    std::string failure() const { return must(read_file(run_dir / "setup/failed")); }
};

}  // namespace setup_test

BOOST_FIXTURE_TEST_SUITE(setup_test, Fixture)

BOOST_AUTO_TEST_CASE(the_command_inherits_what_the_lines_export) {
    lines_are({R"sh(export A="it's \"quoted\" $((1 + 1))")sh", "export B='two\nlines'", "unset C", "cd /usr",
               "umask 027", "NOT_EXPORTED=1", "test $# = 0"});
    auto const output =
        task(R"(echo "$A|$B|${C-none}|$PWD|$(umask)|${NOT_EXPORTED-none}|$1")", {{"C", "set"}});
    BOOST_TEST(output.out == "it's \"quoted\" 2|two\nlines|none|/usr|0027|none|an argument\n");
    BOOST_TEST(output.exit_code == 0);
}

BOOST_AUTO_TEST_CASE(the_lines_run_once_per_node_and_every_task_has_their_environment) {
    lines_are({"sleep 0.3; echo once >>\"$DET_RUN_DIR/count\"", "load() { export LOADED=\"$1 twice\"; }",
               "export -f load; load 'a b'", "unset C", "cd /usr", "ulimit -S -n 99", "umask 027"});
    std::vector<std::future<ProcessOutput>> tasks;
    for (int rank = 0; rank < 4; ++rank) {
        tasks.push_back(std::async(std::launch::async, [this, rank] {
            return task("load x; echo \"$LOADED|${C-none}|$PWD|$(ulimit -n)|$(umask)|$SLURM_PROCID\"",
                        {{"SLURM_PROCID", std::to_string(rank)}, {"C", "set"}});
        }));
    }
    for (int rank = 0; rank < 4; ++rank) {
        auto const output = tasks[static_cast<std::size_t>(rank)].get();
        BOOST_TEST(output.out == "x twice|none|/usr|99|0027|" + std::to_string(rank) + "\n", output.err);
    }
    BOOST_TEST(must(read_file(run_dir / "count")) == "once\n");
}

BOOST_AUTO_TEST_CASE(a_line_that_fails_ends_every_task_and_is_described) {
    struct Case {
        Lines lines;
        int exit_code;
        std::string failure;
    };
    std::vector<Case> const cases{
        {{"true", "(exit 7)", "echo never"}, 7, "line 2 of slurm.setup failed with exit code 7: (exit 7)"},
        {{"exit 0"}, 1, "line 1 of slurm.setup failed with exit code 0: exit 0"},
        {{"set -e", "false\ntrue"}, 1, "line 2 of slurm.setup failed with exit code 1: false true"},
        {{"modul load x"}, 127, "line 1 of slurm.setup failed with exit code 127: modul load x"},
        {{"echo 'unclosed"}, 2, "line 1 of slurm.setup failed with exit code 2: echo 'unclosed"},
        {{"set -u", "echo $NO_SUCH_VARIABLE"},
         127,
         "line 2 of slurm.setup failed with exit code 127: echo $NO_SUCH_VARIABLE"},
    };
    for (auto const& each : cases) {
        lines_are(each.lines);
        auto const output = task("echo never");
        BOOST_TEST(output.out.find("never") == std::string::npos);
        BOOST_TEST(output.exit_code == each.exit_code);
        BOOST_TEST(trim(failure()) == each.failure);
        BOOST_TEST(output.err.ends_with("det-submit: " + each.failure + "\n"), output.err);
        BOOST_TEST(task("echo never").exit_code == 1);
        must(remove_tree(run_dir / "setup/started"));
        must(remove_tree(run_dir / "setup/failed"));
    }
}

BOOST_AUTO_TEST_CASE(the_package_determined_stays_behind_a_path_that_a_line_replaces) {
    lines_are({"export PYTHONPATH=/mine"});
    BOOST_TEST(task("echo $PYTHONPATH", {{"PYTHONPATH", "/theirs:/det"}}).out == "/mine:/det\n");
    BOOST_TEST(task("echo $PYTHONPATH", {{"PYTHONPATH", "/theirs:/det"}}).out == "/mine:/det\n");
}

BOOST_AUTO_TEST_CASE(the_module_wandb_stays_in_front_of_a_path_that_a_line_replaces) {
    lines_are({"export PYTHONPATH=/mine"});
    Variables const wandb{{"PYTHONPATH", "/wandb:/theirs:/det"}, {"DET_LOG_WANDB", "1"}};
    BOOST_TEST(task("echo $PYTHONPATH", wandb).out == "/wandb:/mine:/det\n");
    BOOST_TEST(task("echo $PYTHONPATH", wandb).out == "/wandb:/mine:/det\n");
}

BOOST_AUTO_TEST_CASE(the_module_wandb_stays_in_front_of_a_path_that_a_line_extends) {
    lines_are({"export PYTHONPATH=/mine:$PYTHONPATH"});
    Variables const wandb{{"PYTHONPATH", "/wandb:/det"}, {"DET_LOG_WANDB", "1"}};
    BOOST_TEST(task("echo $PYTHONPATH", wandb).out == "/wandb:/mine:/wandb:/det\n");
}

BOOST_AUTO_TEST_SUITE_END()
