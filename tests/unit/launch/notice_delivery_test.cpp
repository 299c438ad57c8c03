// Which processes of a command get a notice as a signal.
#include "notice_delivery.hpp"

#include <det/foundation/files.hpp>
#include <det/foundation/polling.hpp>
#include <det/foundation/process.hpp>
#include <det/foundation/spawn.hpp>

#include <boost/test/unit_test.hpp>
#include <csignal>
#include <filesystem>
#include <fmt/format.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "check_result.hpp"
#include "temporary_directory.hpp"

using namespace det;
using namespace det::launch::wrap_rank;
using namespace std::chrono_literals;
using Reaction = ProcessView::Reaction;

namespace notice_delivery_test {

std::vector<pid_t> receivers(std::vector<ProcessView> const& processes) {
    return choose_receivers(processes, 10).processes;
}

using Pids = std::vector<pid_t>;

/// Polls with a time limit.
template <class Condition>
void await(Condition condition) {
    auto const deadline = std::chrono::steady_clock::now() + 20s;
    bool is_met = condition();
    while (!is_met && std::chrono::steady_clock::now() < deadline) {
        std::this_thread::sleep_for(5ms);
        is_met = condition();
    }
    BOOST_REQUIRE(is_met);
}

/// A shell script as a child process, in a process group of its own.
class Command {
public:
    Command(std::string const& script, std::filesystem::path const& directory) {
        SpawnSettings settings;
        settings.block(signal_set({}));  // tests of the supervisor leave signals blocked
        settings.in_own_group();
        pid_ = must(spawn({"/bin/sh", "-c", "cd '" + directory.string() + "'\n" + script},
                          Environment::of_this_process(), settings));
    }
    Command(Command const&) = delete;
    ~Command() {
        ::kill(-pid_, SIGKILL);
        if (!is_reaped_) ::waitpid(pid_, nullptr, 0);
    }
    pid_t pid() const { return pid_; }
    int wait() {
        int status = 0;
        await([&] { return ::waitpid(pid_, &status, WNOHANG) == pid_; });
        is_reaped_ = true;
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }

private:
    pid_t pid_ = 0;
    bool is_reaped_ = false;
};

// A program that ends with 7 on TERM once it is ready.
constexpr char program[] = R"(
import os, signal, sys
if len(sys.argv) > 2:
    while not os.path.exists(sys.argv[2]): pass
signal.signal(signal.SIGTERM, lambda *_: os._exit(7))
open(sys.argv[1], "w").close()
while True: signal.pause()
)";

}  // namespace notice_delivery_test

BOOST_AUTO_TEST_SUITE(notice_delivery_test)

BOOST_AUTO_TEST_CASE(the_topmost_process_that_handles_the_signal_gets_it) {
    // A shell, the program, and two workers of its data loader, which have inherited the handler.
    BOOST_TEST(receivers({{10, 1}, {11, 10, Reaction::caught}, {12, 11, Reaction::caught}}) == Pids{11});
    BOOST_TEST(receivers({{10, 1, Reaction::caught}, {11, 10, Reaction::caught}}) == Pids{10});
    // Each branch of the tree has one receiver.
    BOOST_TEST(receivers({{10, 1}, {11, 10, Reaction::caught}, {12, 10}, {13, 12, Reaction::caught}}) ==
               (Pids{11, 13}));
}

BOOST_AUTO_TEST_CASE(ranks_get_the_signal_instead_of_their_launcher) {
    BOOST_TEST(receivers({{10, 1},
                          {11, 10, Reaction::caught},
                          {12, 11, Reaction::caught, true},
                          {13, 11, Reaction::blocked, true},
                          {14, 13, Reaction::caught, true}}) == (Pids{12, 13}));
}

BOOST_AUTO_TEST_CASE(srun_never_gets_the_signal) {
    BOOST_TEST(receivers({{10, 1}, {11, 10, Reaction::caught, false, "srun"}}).empty());
    BOOST_TEST(receivers({{10, 1}, {11, 10, Reaction::blocked, true, "srun"}}).empty());
    BOOST_TEST(receivers({{10, 1},
                          {11, 10, Reaction::caught, false, "srun"},
                          {12, 10, Reaction::caught, false, "python3"}}) == Pids{12});
}

BOOST_AUTO_TEST_CASE(a_notice_of_the_supervisor_reaches_the_tasks_of_other_steps_of_the_run) {
    TemporaryDirectory directory;
    must(write_file(directory / "program.py", program));
    std::filesystem::copy_file("/bin/sh", directory / "slurmstepd");
    auto const run_key = directory.path().string();
    auto const task = fmt::format(
        "DET_RUN_KEY='{}' SLURM_STEP_ID=5 ./slurmstepd -c 'python3 program.py ready; exit $?'", run_key);
    Command command("exec sleep 60", directory.path()), other_step(task, directory.path());
    await([&] { return path_exists(directory / "ready"); });
    NoticeDelivery own_step(command.pid(), {SIGTERM}, {run_key, "5"});
    NoticeDelivery other_run(command.pid(), {SIGTERM}, {"another", "0"});
    for (auto* notice : {&own_step, &other_run}) {
        notice->deliver();
        BOOST_TEST(notice->is_pending());
    }
    NoticeDelivery notice(command.pid(), {SIGTERM}, {run_key, "0"});
    notice.deliver();
    BOOST_TEST(other_step.wait() == 7);
}

BOOST_AUTO_TEST_CASE(a_process_that_waits_for_blocked_signals_is_the_last_choice) {
    BOOST_TEST(receivers({{10, 1}, {11, 10, Reaction::blocked}}) == Pids{11});
    BOOST_TEST(receivers({{10, 1}, {11, 10, Reaction::blocked}, {12, 10, Reaction::caught}}) == Pids{12});
}

BOOST_AUTO_TEST_CASE(no_process_gets_the_signal_if_none_waits_for_it_or_the_command_has_ended) {
    BOOST_TEST(receivers({{10, 1}, {11, 10}, {12, 1, Reaction::caught}}).empty());
    BOOST_TEST(receivers({{12, 1, Reaction::caught}}).empty());
}

BOOST_AUTO_TEST_CASE(a_shell_in_front_of_the_program_survives_and_sees_its_exit_code) {
    TemporaryDirectory directory;
    must(write_file(directory / "program.py", program));
    Command command("python3 program.py ready; exit $(($? + 10))", directory.path());
    await([&] { return path_exists(directory / "ready"); });
    NoticeDelivery notice(command.pid(), {SIGTERM});
    BOOST_TEST(notice.is_pending());
    notice.deliver();
    BOOST_TEST(!notice.is_pending());
    notice.deliver();  // does nothing the second time
    BOOST_TEST(command.wait() == 17);
}

BOOST_AUTO_TEST_CASE(a_program_that_is_not_ready_gets_the_notice_when_it_is) {
    TemporaryDirectory directory;
    must(write_file(directory / "program.py", program));
    Command command("python3 program.py ready go; exit $?", directory.path());
    await([&] { return read_process_tree(command.pid(), SIGTERM).size() == 2u; });
    NoticeDelivery notice(command.pid(), {SIGTERM});
    notice.deliver();
    BOOST_TEST(notice.is_pending());
    must(write_file(directory / "go", ""));
    await([&] { return path_exists(directory / "ready"); });
    notice.deliver();
    BOOST_TEST(command.wait() == 7);
}

BOOST_AUTO_TEST_CASE(a_program_that_reads_blocked_signals_gets_the_notice_at_the_second_try) {
    TemporaryDirectory directory;
    must(write_file(directory / "program.py",
                    "import os, signal\n"
                    "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])\n"
                    "open('ready', 'w').close()\n"
                    "while signal.SIGTERM not in signal.sigpending(): pass\n"
                    "os._exit(7)\n"));
    Command command("exec python3 program.py", directory.path());
    await([&] { return path_exists(directory / "ready"); });
    NoticeDelivery notice(command.pid(), {SIGTERM});
    notice.deliver();
    BOOST_TEST(notice.is_pending());
    notice.deliver();
    BOOST_TEST(!notice.is_pending());
    BOOST_TEST(command.wait() == 7);
}

BOOST_AUTO_TEST_CASE(each_rank_gets_the_notice_once_however_late_it_is_ready) {
    TemporaryDirectory directory;
    must(write_file(directory / "program.py", program));
    Command command(
        "export LOCAL_RANK=0\npython3 program.py one & a=$!; python3 program.py two go & b=$!\n"
        "wait $a; x=$?; wait $b; exit $((x + $?))",
        directory.path());
    await([&] { return path_exists(directory / "one"); });
    NoticeDelivery notice(command.pid(), {SIGTERM});
    notice.deliver();
    BOOST_TEST(notice.is_pending());
    must(write_file(directory / "go", ""));
    await([&] { return path_exists(directory / "two"); });
    notice.deliver();
    BOOST_TEST(command.wait() == 14);
}

BOOST_AUTO_TEST_SUITE_END()
