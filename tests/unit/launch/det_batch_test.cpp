// det-batch as Slurm starts and signals it. Its command is a shell or python3 in place of the supervisor.
#include <det/foundation/files.hpp>
#include <det/foundation/process.hpp>
#include <det/foundation/text.hpp>

#include <boost/test/unit_test.hpp>
#include <chrono>
#include <csignal>
#include <functional>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "check_result.hpp"
#include "temporary_directory.hpp"
#include "test_paths.hpp"

using namespace det;
using namespace std::chrono_literals;

namespace det_batch_test {

std::string const det_batch = test::built_path("bin/det-batch");
/// Writes its process id into the file `pid`, and waits for a signal, which is its exit code then.
constexpr char wait_for_signal[] =
    "import os, signal, sys; signals = {signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2, signal.SIGHUP, "
    "signal.SIGURG}; "
    "signal.pthread_sigmask(signal.SIG_BLOCK, signals); "
    "open('pid.new', 'w').write(str(os.getpid())); os.rename('pid.new', 'pid'); "
    "sys.exit(signal.sigwait(signals))";

struct Fixture {
    TemporaryDirectory directory;
    pid_t process = -1;

    ~Fixture() {
        if (process <= 0) return;
        ::kill(process, SIGKILL);
        ::waitpid(process, nullptr, 0);
    }
    void start(
        std::vector<std::string> argv, std::function<void()> const& before_exec = [] {}) {
        argv.insert(argv.begin(), det_batch);
        CStrings const arguments(argv);
        process = ::fork();
        BOOST_REQUIRE(process >= 0);
        if (process != 0) return;
        before_exec();
        if (::chdir(directory.path().c_str()) == 0) ::execv(arguments.data()[0], arguments.data());
        ::_exit(126);
    }
    void start_shell(std::string const& script) { start({"sh", "-c", script}); }
    /// The status of waitpid(2) of det-batch.
    int end() {
        int status = 0;
        wait_until([&] { return ::waitpid(process, &status, WNOHANG) == process; }, "det-batch ends");
        process = -1;
        return status;
    }
    static void wait_until(std::function<bool()> const& done, std::string_view what) {
        auto const give_up_at = std::chrono::steady_clock::now() + 60s;
        while (!done()) {
            BOOST_REQUIRE_MESSAGE(std::chrono::steady_clock::now() < give_up_at, "not in time: " << what);
            std::this_thread::sleep_for(5ms);
        }
    }
    /// Waits until the command has written its process id into this file.
    pid_t pid_in(std::string const& name) const {
        wait_until([&] { return path_exists(directory / name); }, name + " exists");
        return parse_integer<pid_t>(trim(must(read_file(directory / name)))).value();
    }
    static bool is_alive(pid_t pid) { return ::kill(pid, 0) == 0; }
};

}  // namespace det_batch_test

BOOST_FIXTURE_TEST_SUITE(det_batch_test, det_batch_test::Fixture)

BOOST_AUTO_TEST_CASE(the_exit_code_is_that_of_the_command) {
    for (int const code : {0, 1, 70, 143}) {
        start_shell("exit " + std::to_string(code));
        int const status = end();
        BOOST_TEST((WIFEXITED(status) && WEXITSTATUS(status) == code), status);
    }
    start({"/no/such/program"});
    BOOST_TEST(WEXITSTATUS(end()) == 127);
    start({});
    BOOST_TEST(WEXITSTATUS(end()) == 2);
}

BOOST_AUTO_TEST_CASE(signals_are_passed_on) {
    for (int const number : {SIGTERM, SIGUSR1, SIGUSR2, SIGHUP, SIGURG}) {
        must(remove_tree(directory / "pid"));
        start({"/usr/bin/python3", "-c", wait_for_signal});
        (void)pid_in("pid");
        ::kill(process, number);
        BOOST_TEST(WEXITSTATUS(end()) == number);
    }
}

BOOST_AUTO_TEST_CASE(a_signal_before_the_command_exists_reaches_it) {
    start({"/usr/bin/python3", "-c", wait_for_signal}, [] {
        // A pending signal survives execve(2).
        sigset_t term;
        sigemptyset(&term);
        sigaddset(&term, SIGTERM);
        ::sigprocmask(SIG_BLOCK, &term, nullptr);
        ::raise(SIGTERM);
    });
    BOOST_TEST(WEXITSTATUS(end()) == SIGTERM);
}

BOOST_AUTO_TEST_CASE(a_command_that_a_passed_on_signal_ends_is_not_started_again) {
    start({"/usr/bin/python3", "-c",
           "import os, signal, time\n"
           "signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGUSR1])\n"
           "open('pid.new', 'w').write(str(os.getpid())); os.rename('pid.new', 'pid'); time.sleep(60)"});
    (void)pid_in("pid");
    ::kill(process, SIGUSR1);
    int const status = end();
    BOOST_TEST((WIFSIGNALED(status) && WTERMSIG(status) == SIGUSR1), status);
}

BOOST_AUTO_TEST_CASE(a_killed_command_is_started_again_once) {
    start_shell(
        "echo $$ >pid.new; mv pid.new \"pid-$DET_SUPERVISOR_RESTARTS\"; [ \"$DET_BATCH_PID\" = $PPID ] && "
        "exec sleep "
        "60");
    ::kill(pid_in("pid-"), SIGKILL);
    ::kill(pid_in("pid-1"), SIGKILL);
    int const status = end();
    BOOST_TEST((WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL), status);
}

BOOST_AUTO_TEST_CASE(the_second_command_gets_the_notice_of_the_first_one) {
    // No shell: dash unblocks signals.
    start({"/usr/bin/python3", "-c",
           "import os, signal, sys, time\n"
           "if os.environ.get('DET_SUPERVISOR_RESTARTS'): sys.exit(signal.sigwait({signal.SIGTERM}))\n"
           "open('pid.new', 'w').write(str(os.getpid())); os.rename('pid.new', 'pid'); time.sleep(60)"});
    auto const first = pid_in("pid");
    ::kill(process, SIGTERM);  // blocked in the command
    ::kill(first, SIGKILL);
    BOOST_TEST(WEXITSTATUS(end()) == SIGTERM);
}

BOOST_AUTO_TEST_CASE(what_a_killed_command_leaves_is_killed_before_the_second_one_starts) {
    start_shell(
        "if [ -n \"$DET_SUPERVISOR_RESTARTS\" ]; then ! kill -0 $(cat left); exit; fi; "
        "setsid sh -c 'sleep 60 & echo $! >left.new; mv left.new left; wait' & "
        "echo $$ >pid.new; mv pid.new pid; exec sleep 60");
    auto const left = pid_in("left");
    ::kill(pid_in("pid"), SIGKILL);
    BOOST_TEST(WEXITSTATUS(end()) == 0);
    BOOST_TEST(!is_alive(left));
}

BOOST_AUTO_TEST_CASE(the_command_does_not_outlive_a_killed_det_batch) {
    start_shell("echo $$ >pid.new; mv pid.new pid; exec sleep 60");
    auto const command = pid_in("pid");
    ::kill(process, SIGKILL);
    BOOST_TEST(WTERMSIG(end()) == SIGKILL);
    // The zombie stays if the process that adopts it does not reap.
    wait_until(
        [&] {
            auto const status =
                read_file("/proc/" + std::to_string(command) + "/status").value_or("State:\tZ");
            return status.find("State:\tZ") != std::string::npos;
        },
        "the command ends");
}

BOOST_AUTO_TEST_SUITE_END()
