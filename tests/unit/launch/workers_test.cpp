// The launcher contract, with real processes.
#include <det/foundation/files.hpp>
#include <det/foundation/process.hpp>
#include <det/launch/launchers/monitor_launch.hpp>
#include <det/launch/launchers/worker.hpp>

#include <boost/test/unit_test.hpp>
#include <csignal>
#include <filesystem>
#include <unistd.h>

#include "check_result.hpp"
#include "temporary_directory.hpp"
#include "test_paths.hpp"

using namespace det;
using namespace det::launch::launchers;
using namespace std::chrono_literals;

namespace workers_test {

std::string const det_launch = det::test::built_path("bin/det-launch");

struct Launched {
    TemporaryDirectory directory;
    std::vector<std::string> said;
    std::chrono::milliseconds grace = 200ms;
    bool is_supervised = false;

    /// Launches shell scripts and returns the exit code of the launch. Each is a worker or, with a '!' before
    /// it, a launcher.
    int exit_code(std::vector<std::string> const& scripts) {
        launch::launchers::LaunchPlan plan;
        auto const environment = Environment::of_this_process();
        for (auto const& script : scripts) {
            std::vector<std::string> argv{det_launch, "worker", "sh", "-c", script};
            if (script.starts_with('!')) argv = {"sh", "-c", script.substr(1)};
            plan.processes.push_back({argv, environment});
            plan.processes.back().environment.set("W", std::string(det_launch) + " worker");
            plan.processes.back().environment.set("D", directory.path());
            plan.processes.back().environment.set("MONITOR", std::to_string(::getpid()));
            if (is_supervised) plan.processes.back().environment.set("DET_RUN_PATH", directory.path());
        }
        MonitorOptions options;
        options.grace = grace;
        options.kill_timeout = 200ms;
        options.log = [this](std::string const& line) { said.push_back(line); };
        return must(monitor_launch(plan, directory.path(), SystemClock(), options));
    }
    std::string file(std::string const& name) const {
        return read_file(std::filesystem::path(directory.path()) / name).value_or("(none)");
    }
};

// Longer than any test may take.
constexpr auto for_ever = "sleep 1000";

}  // namespace workers_test

BOOST_AUTO_TEST_SUITE(workers_test)

BOOST_FIXTURE_TEST_CASE(the_exit_code_is_zero_if_all_are_zero, Launched) {
    BOOST_TEST(exit_code({"true", "echo here > $D/a", "true"}) == 0);
    BOOST_TEST(file("a") == "here\n");
    BOOST_TEST(said.empty());
}

BOOST_FIXTURE_TEST_CASE(the_first_failure_ends_the_others_and_its_code_is_returned, Launched) {
    BOOST_TEST(exit_code({for_ever, "exit 7", for_ever}) == 7);
    BOOST_TEST(said.back() == "a worker ended with 7");
}

BOOST_FIXTURE_TEST_CASE(the_others_have_time_for_their_last_output, Launched) {
    // The worker detects the failure of its peer when the process that reported the failure is gone.
    grace = 30s;
    BOOST_TEST(exit_code({"while ! [ -e $D/teller ]; do sleep 0.01; done;"
                          "while kill -0 $(cat $D/teller) 2> /dev/null; do sleep 0.01; done;"
                          "echo bye > $D/words; exit 9",
                          "echo $PPID > $D/teller.new; mv $D/teller.new $D/teller; exit 7"}) == 7);
    BOOST_TEST(file("words") == "bye\n");
}

BOOST_FIXTURE_TEST_CASE(a_worker_that_is_killed_has_failed, Launched) {
    BOOST_TEST(exit_code({"kill -9 $$", for_ever}) == 128 + SIGKILL);
}

BOOST_FIXTURE_TEST_CASE(a_worker_that_disconnects_without_exit_code_has_failed, Launched) {
    // Kills the process that would have sent the exit code.
    BOOST_TEST(exit_code({"kill -9 $PPID; sleep 1000", for_ever}) == 128 + SIGKILL);
    BOOST_TEST(said.back().find("disconnected") != std::string::npos, said.back());
}

BOOST_FIXTURE_TEST_CASE(a_launcher_that_ends_before_its_workers_has_failed, Launched) {
    BOOST_TEST(
        exit_code(
            {"!$W sh -c 'touch $D/begun; sleep 1000' & while ! [ -e $D/begun ]; do sleep 0.01; done"}) == 1);
}

BOOST_FIXTURE_TEST_CASE(a_failure_that_the_launcher_hides_is_returned, Launched) {
    BOOST_TEST(exit_code({"!$W sh -c 'exit 5'; exit 0"}) == 5);
    // torchrun ends with 1 whatever its ranks end with.
    BOOST_TEST(exit_code({"!$W sh -c 'exit 5'; exit 1"}) == 5);
}

BOOST_FIXTURE_TEST_CASE(a_launcher_that_fails_by_itself_returns_its_own_code, Launched) {
    BOOST_TEST(exit_code({"!exit 3"}) == 3);
    BOOST_TEST(exit_code({"!$W true; exit 3"}) == 3);
}

BOOST_FIXTURE_TEST_CASE(a_launcher_that_does_not_end_is_killed, Launched) {
    BOOST_TEST(exit_code({"!$W sh -c 'exit 5'; sleep 1000"}) == 5);
}

BOOST_FIXTURE_TEST_CASE(no_process_of_a_launch_outlives_it, Launched) {
    BOOST_TEST(exit_code({"(echo $(exec sh -c 'echo $PPID') > $D/pid; sleep 1000) & sleep 1000",
                          "while ! [ -s $D/pid ]; do sleep 0.01; done; exit 4"}) == 4);
    auto const pid = std::stoi(file("pid"));
    auto const deadline = std::chrono::steady_clock::now() + 10s;
    while (::kill(pid, 0) == 0 && std::chrono::steady_clock::now() < deadline) {
        auto const state = read_file("/proc/" + std::to_string(pid) + "/stat").value_or("");
        if (state.find(") Z ") != std::string::npos) break;  // its parent has not reaped it
    }
    BOOST_TEST((std::chrono::steady_clock::now() < deadline));
}

/// A program that sends signals under the name of Slurm's.
// The sender of a signal is found in /proc, so that a process that plays slurmstepd lives on after it has
// sent one.
void make_slurmstepd(TemporaryDirectory const& directory) {
    std::filesystem::copy_file("/bin/sh", directory / "slurmstepd");
}

BOOST_FIXTURE_TEST_CASE(slurms_notice_does_not_end_the_launch_of_a_run_but_another_term_does, Launched) {
    make_slurmstepd(directory);
    is_supervised = true;
    BOOST_TEST(
        exit_code({"!trap 'exit 9' TERM; $D/slurmstepd -c \"kill -TERM $MONITOR; sleep 1\"; exit 0"}) == 0);
    BOOST_TEST(said.empty());
    BOOST_TEST(exit_code({"!kill -TERM $MONITOR; sleep 1000"}) == 128 + SIGTERM);
}

BOOST_FIXTURE_TEST_CASE(a_worker_awaits_the_program_below_a_shell_that_slurms_notice_has_ended, Launched) {
    make_slurmstepd(directory);
    // The worker, its shell, and the program, which saves.
    BOOST_TEST(exit_code({R"(WORKER=$PPID SHELL_ABOVE=$$ sh -c '
        trap "sleep 0.2; touch $D/saved; exit 6" TERM
        $D/slurmstepd -c "kill -TERM $WORKER $SHELL_ABOVE $$; sleep 1"
        sleep 60'; exit 9)"}) == 6);
    BOOST_TEST(file("saved").empty());
}

BOOST_FIXTURE_TEST_CASE(the_path_of_the_socket_may_be_longer_than_an_address, Launched) {
    auto const deep = std::filesystem::path(directory.path()) / std::string(150, 'd');
    must(make_directory(deep));
    auto const listening = must(listen_at(deep / "workers"));
    BOOST_TEST(connect_to(deep / "workers").has_value());
    BOOST_TEST(!connect_to(deep / "nobody").has_value());
    BOOST_TEST(!connect_to("/nowhere/workers").has_value());
}

BOOST_AUTO_TEST_CASE(messages_round_trip_and_other_text_is_refused) {
    for (Message const& message :
         {Message(WorkerHello{WorkerHello::Kind::worker, "rank 3"}),
          Message(WorkerHello{WorkerHello::Kind::remote, "n1"}), Message(WorkerExit{137})}) {
        BOOST_TEST((parse_message(render_message(message)) == message));
    }
    for (auto const* text : {"", "exit", "exit x", "exit -1", "exit 256", "workers"}) {
        BOOST_TEST(!parse_message(text).has_value(), text);
    }
}

BOOST_AUTO_TEST_CASE(a_failing_command_on_another_node_explains_the_launchers_code_only) {
    LaunchFacts facts;
    facts.remote_failure = 4;  // a probe, tried again by the launcher
    BOOST_TEST(launch_outcome(facts).exit_code == 0);
    facts.launcher_exit = 1;
    facts.unfinished = 2;  // left behind by the launcher
    BOOST_TEST(launch_outcome(facts).exit_code == 4);
    facts.unfinished = 0;
    facts.launcher_exit = 0;  // as pdsh ends if its commands were killed
    facts.remote_failure_counts = true;
    BOOST_TEST(launch_outcome(facts).exit_code == 4);
    facts.first_failure = 6;
    BOOST_TEST(launch_outcome(facts).exit_code == 6);
}

BOOST_AUTO_TEST_CASE(workers_ended_by_the_launcher_are_not_the_cause_of_failure) {
    LaunchFacts facts;
    facts.was_terminated = true;
    facts.launcher_exit = 3;
    BOOST_TEST(launch_outcome(facts).exit_code == 3);
    facts.launcher_exit = 0;
    BOOST_TEST(launch_outcome(facts).exit_code == 143);
    facts.first_failure = 6;
    BOOST_TEST(launch_outcome(facts).exit_code == 6);
}

BOOST_AUTO_TEST_SUITE_END()
