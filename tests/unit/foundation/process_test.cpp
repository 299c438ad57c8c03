#include <det/foundation/process.hpp>
#include <det/foundation/spawn.hpp>

#include <boost/test/unit_test.hpp>
#include <csignal>
#include <poll.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "check_result.hpp"
#include "temporary_directory.hpp"

using namespace det;

namespace process_test {

Command shell(std::string script) {
    return Command{
        {"/bin/sh", "-c", std::move(script)}, Environment::of_this_process(), std::chrono::seconds(20)};
}

/// Interrupts the system calls of this process every 10 ms.
class Interruptions {
public:
    Interruptions() {
        struct sigaction action {};
        action.sa_handler = [](int) {};
        ::sigaction(SIGALRM, &action, &before_);
        repeat_every(10'000);
    }
    ~Interruptions() {
        repeat_every(0);
        ::sigaction(SIGALRM, &before_, nullptr);
    }
    Interruptions(Interruptions const&) = delete;
    Interruptions& operator=(Interruptions const&) = delete;

private:
    static void repeat_every(suseconds_t microseconds) {
        itimerval const timer{{0, microseconds}, {0, microseconds}};
        ::setitimer(ITIMER_REAL, &timer, nullptr);
    }
    struct sigaction before_ {};
};

}  // namespace process_test

BOOST_AUTO_TEST_SUITE(process_test)

BOOST_AUTO_TEST_CASE(output_and_exit_code_come_back) {
    SystemProcessRunner runner;
    auto const output = must(runner.run(shell("echo out; echo err >&2; exit 7")));
    BOOST_TEST(output.out == "out\n");
    BOOST_TEST(output.err == "err\n");
    BOOST_TEST(output.exit_code == 7);
    BOOST_TEST(must(runner.run(shell("kill -9 $$"))).exit_code == 128 + SIGKILL);
}

BOOST_AUTO_TEST_CASE(much_output_on_both_streams_does_not_block) {
    SystemProcessRunner runner;
    auto const output = must(runner.run(shell("head -c 1000000 /dev/zero; head -c 1000000 /dev/zero >&2")));
    BOOST_TEST(output.out.size() == 1000000u);
    BOOST_TEST(output.err.size() == 1000000u);
}

BOOST_AUTO_TEST_CASE(several_commands_run_concurrently_and_each_has_its_own_output) {
    TemporaryDirectory const directory;
    auto const fifo = "'" + (directory / "fifo").string() + "'";
    must(SystemProcessRunner().run(shell("mkfifo " + fifo)));
    // The first command ends only if the second one runs at the same time.
    auto const outputs = SystemProcessRunner().run_all({shell("cat " + fifo),
                                                        shell("echo hello > " + fifo + "; exit 3"),
                                                        {{"/no/such/program"}, Environment()},
                                                        shell("head -c 1000000 /dev/zero")});
    BOOST_TEST(must(outputs.at(0)).out == "hello\n");
    BOOST_TEST(must(outputs.at(1)).exit_code == 3);
    BOOST_TEST((must_fail(outputs.at(2)).code == codes::no_such_file));
    BOOST_TEST(must(outputs.at(3)).out.size() == 1000000u);
}

BOOST_AUTO_TEST_CASE(the_outputs_of_all_programs_are_read_at_the_same_time) {
    TemporaryDirectory directory;
    auto const fifo = "'" + (directory / "fifo").string() + "'";
    must(SystemProcessRunner().run(shell("mkfifo " + fifo)));
    // The first waits for the second, whose output does not fit into a pipe.
    std::vector<Command> commands{shell("cat " + fifo),
                                  shell("head -c 1000000 /dev/zero; echo hello > " + fifo)};
    for (auto& command : commands) command.timeout = std::chrono::seconds(20);
    auto const outputs = SystemProcessRunner().run_all(commands);
    BOOST_TEST(must(outputs.at(0)).out == "hello\n");
    BOOST_TEST(must(outputs.at(1)).out.size() == 1000000u);
}

BOOST_AUTO_TEST_CASE(a_program_that_does_not_exist_is_an_error) {
    SystemProcessRunner runner;
    Command const command{{"/no/such/program"}, Environment()};
    BOOST_TEST((must_fail(runner.run(command)).code == codes::no_such_file));
}

BOOST_AUTO_TEST_CASE(a_program_that_outlives_its_time_is_killed_with_its_children) {
    SystemProcessRunner runner;
    for (auto const* script : {"sleep 60 & sleep 60", "exec sleep 60", "exec >&- 2>&-; sleep 60"}) {
        auto command = shell(script);
        command.timeout = std::chrono::milliseconds(100);
        BOOST_TEST((must_fail(runner.run(command)).code == codes::timed_out));
    }
}

BOOST_AUTO_TEST_CASE(a_program_that_has_printed_its_last_message_is_killed_and_its_output_is_returned) {
    SystemProcessRunner runner;
    auto command = shell("echo first; echo trying >&2; echo once more >&2; sleep 60 & sleep 60");
    command.last_message = "once more";
    auto const output = must(runner.run(command));
    BOOST_TEST(output.exit_code == 128 + SIGKILL);
    BOOST_TEST(output.out == "first\n");
    BOOST_TEST(output.err == "trying\nonce more\n");
    command.last_message = "never printed";
    command.timeout = std::chrono::milliseconds(100);
    BOOST_TEST((must_fail(runner.run(command)).code == codes::timed_out));
}

BOOST_AUTO_TEST_CASE(a_program_that_was_started_ahead_waits_for_its_input) {
    SystemProcessRunner runner;
    auto const program = runner.start_ahead(shell("read word; echo \"got $word\"; cat; exit 3"));
    BOOST_REQUIRE(program != nullptr);
    auto const output = must(program->finish("one\ntwo\n"));
    BOOST_TEST(output.out == "got one\ntwo\n");
    BOOST_TEST(output.exit_code == 3);
    BOOST_TEST((runner.start_ahead({{"/no/such/program"}, Environment()}) == nullptr));
}

BOOST_AUTO_TEST_CASE(input_that_a_program_has_not_read_is_an_error) {
    SystemProcessRunner runner;
    auto const program = runner.start_ahead(shell("exit 0"));
    BOOST_REQUIRE(program != nullptr);
    auto const error = must_fail(program->finish("release 7\n"));
    BOOST_TEST((error.code == codes::process));
    BOOST_TEST(error.message == "'/bin/sh' has not read its input");
}

BOOST_AUTO_TEST_CASE(
    a_program_that_was_started_ahead_ends_with_its_owner_and_has_its_time_from_the_input_on) {
    TemporaryDirectory directory;
    auto const mark = directory / "ended";
    SystemProcessRunner runner;
    auto unused = runner.start_ahead(shell("read word; touch '" + mark.string() + "'"));
    BOOST_REQUIRE(unused != nullptr);
    unused.reset();
    BOOST_TEST(!path_exists(mark));
    auto command = shell("read word; exec >&- 2>&-; sleep 60");
    command.timeout = std::chrono::milliseconds(100);
    auto const slow = runner.start_ahead(std::move(command));
    BOOST_REQUIRE(slow != nullptr);
    BOOST_TEST((must_fail(slow->finish("word\n")).code == codes::timed_out));
}

BOOST_AUTO_TEST_CASE(signals_do_not_change_how_long_a_program_may_run) {
    Interruptions const interruptions;
    SystemProcessRunner runner;
    auto command = shell("exec >&- 2>&-; sleep 30");
    command.timeout = std::chrono::milliseconds(200);
    BOOST_TEST((must_fail(runner.run(command)).code == codes::timed_out));
    BOOST_TEST(must(runner.run(shell("exec >&- 2>&-; sleep 0.2; exit 3"))).exit_code == 3);
}

BOOST_AUTO_TEST_CASE(the_child_has_no_signal_blocked_unless_it_inherits_the_mask) {
    sigset_t term;
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &term, nullptr);
    SystemProcessRunner runner;
    BOOST_TEST(must(runner.run(shell("kill -TERM $$; echo survived"))).exit_code == 128 + SIGTERM);
    SystemProcessRunner shielded(ChildSignals::blocked_as_ours);
    BOOST_TEST(must(shielded.run(shell("kill -TERM $$; echo survived"))).out == "survived\n");
    pthread_sigmask(SIG_UNBLOCK, &term, nullptr);
}

BOOST_AUTO_TEST_CASE(without_pidfds_a_thread_tells_the_end_of_a_process) {
    SpawnSettings settings;
    auto const pid = must(spawn({"sleep", "100"}, Environment::of_this_process(), settings));
    auto const watched = watch_exit_with_thread(pid);
    BOOST_REQUIRE(static_cast<bool>(watched));
    pollfd polled{watched.get(), POLLIN, 0};
    BOOST_TEST(::poll(&polled, 1, 0) == 0);
    ::kill(pid, SIGKILL);
    BOOST_TEST(::poll(&polled, 1, 20'000) == 1);
    BOOST_TEST((polled.revents & POLLIN) != 0);
    int status = 0;
    BOOST_TEST(::waitpid(pid, &status, 0) == pid);  // the exit code is left for the caller
    BOOST_TEST(WTERMSIG(status) == SIGKILL);
    BOOST_TEST(!watch_exit_with_thread(pid));
}

BOOST_AUTO_TEST_CASE(without_pidfds_the_end_of_a_process_that_is_no_child_is_told_too) {
    SystemProcessRunner runner;
    auto const output = must(runner.run(shell("sleep 100 >/dev/null 2>&1 & echo $!")));
    auto const pid = std::stoi(output.out);
    auto const watched = watch_exit_with_thread(pid);
    BOOST_REQUIRE(static_cast<bool>(watched));
    ::kill(pid, SIGKILL);
    pollfd polled{watched.get(), POLLIN, 0};
    BOOST_TEST(::poll(&polled, 1, 20'000) == 1);
}

BOOST_AUTO_TEST_CASE(signals_reach_a_process_with_and_without_a_pidfd) {
    for (auto const open : {open_pidfd, watch_exit_with_thread}) {
        SpawnSettings settings;
        auto const pid = must(spawn({"sleep", "100"}, Environment::of_this_process(), settings));
        auto const process = open(pid);
        BOOST_REQUIRE(static_cast<bool>(process));
        BOOST_TEST(send_signal(process, pid, SIGTERM));
        pollfd polled{process.get(), POLLIN, 0};
        BOOST_TEST(::poll(&polled, 1, 20'000) == 1);
        // The process is a zombie: its number is still taken.
        if (open == watch_exit_with_thread) {
            BOOST_TEST(!send_signal(process, pid, SIGTERM));
            BOOST_TEST(errno == ESRCH);
        }
        int status = 0;
        BOOST_TEST(::waitpid(pid, &status, 0) == pid);
        BOOST_TEST(WTERMSIG(status) == SIGTERM);
    }
}

BOOST_AUTO_TEST_SUITE_END()
