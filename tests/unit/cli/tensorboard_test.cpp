// The command that shows experiments in TensorBoard, and how long logs are kept.
#include <det/foundation/process.hpp>
#include <det/journal/event_log.hpp>

#include <boost/test/unit_test.hpp>
#include <sys/wait.h>
#include <unistd.h>

#include "cli_support.hpp"
#include "example_experiments.hpp"

using namespace det;
using namespace det::cli;

namespace tensorboard_test {

struct Fixture : CliFixture {
    ExperimentLayout first = create_example(root, 1), second = create_example(root, 2);

    Fixture() { must(make_directories(first.trial(0).event_files())); }
};

}  // namespace tensorboard_test

BOOST_FIXTURE_TEST_SUITE(tensorboard_test, Fixture)

BOOST_AUTO_TEST_CASE(the_command_names_the_directory_of_event_files) {
    environment.set("PATH", "");
    BOOST_TEST(run("tensorboard 1") == 0);
    BOOST_TEST(out == "tensorboard --host 127.0.0.1 --logdir " + first.trials().string() + "\n");
    BOOST_TEST(err.starts_with("TensorBoard is not in PATH"), err);
    BOOST_TEST(run("tensorboard start 1 2") == 0);
    BOOST_TEST(
        contains(out, " --logdir_spec 1:" + first.trials().string() + ",2:" + second.trials().string()), out);
    BOOST_TEST(contains(err, "experiment 2 has no event files so far"), err);
    auto const answer = ask("tensorboard -t 1.0");
    BOOST_TEST(answer["directories"][0]["path"] == first.trial(0).tensorboard().string());
    BOOST_TEST(answer["command"][0] == "tensorboard");
}

BOOST_AUTO_TEST_CASE(an_installed_tensorboard_is_started) {
    environment.set("PATH", root.path().string() + "/bin:/usr/bin:/bin");
    auto const program = root.path() / "bin/tensorboard";
    must(make_directories(program.parent_path()));
    must(write_file(program, "#!/bin/sh\necho \"$@\" >\"$0.log\"\nexit 3\n", 0755));
    auto const log = program.string() + ".log";
    BOOST_TEST(run("tensorboard start 1 --json") == 0);
    BOOST_TEST(!path_exists(log));
    for (auto const* command : {"tensorboard start 1", "tensorboard 1"}) {
        pid_t const child = ::fork();
        BOOST_REQUIRE(child >= 0);
        if (child == 0) ::_exit(100 + run(command));  // only if it was not replaced by the program
        int status = 0;
        BOOST_REQUIRE(::waitpid(child, &status, 0) == child);
        BOOST_TEST(exit_code_of_wait_status(status) == 3);
        BOOST_TEST(must(read_file(log)) == "--host 127.0.0.1 --logdir " + first.trials().string() + "\n");
        must(remove_tree(log));
    }
    must(write_file(program, "#!/no/such/interpreter\n", 0755));
    BOOST_TEST(run("tensorboard start 1") != 0);
    BOOST_TEST(contains(err, "it has no password"), err);
    BOOST_TEST(contains(err, "bin/tensorboard"), err);
    environment.set("PATH", "");
    BOOST_TEST(run("tensorboard start 1") == 0);
    BOOST_TEST(contains(err, "TensorBoard is not in PATH"), err);
}

BOOST_AUTO_TEST_CASE(what_does_not_exist_is_refused) {
    BOOST_TEST(run("tensorboard") == to_int(ExitCode::usage));
    BOOST_TEST(run("tensorboard start") == to_int(ExitCode::usage));
    BOOST_TEST(run("tensorboard 9") == to_int(ExitCode::absent));
    BOOST_TEST(run("tensorboard -t 1.7") == to_int(ExitCode::absent));
}

BOOST_AUTO_TEST_CASE(the_retention_of_logs_is_changed) {
    BOOST_TEST(ask("experiment set log-retention 1 --days 7")["log_retention_days"] == 7);
    BOOST_TEST(ask("experiment set log-retention 1 --forever")["log_retention_days"] == -1);
    auto const events = must(journal::load_events(first.events()));
    BOOST_TEST(events.back().kind == "log-retention");
    BOOST_TEST(run("experiment set log-retention 1") == to_int(ExitCode::usage));
    BOOST_TEST(run("experiment set log-retention 1 --days 7 --forever") == to_int(ExitCode::usage));
    BOOST_TEST(run("experiment set log-retention 9 --days 7") == to_int(ExitCode::absent));
}

BOOST_AUTO_TEST_SUITE_END()
