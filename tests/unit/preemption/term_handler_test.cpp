// Slurm's TERM, which every process of a step gets under proctrack/linuxproc, in programs with the Core API.
#include <det/foundation/files.hpp>
#include <det/foundation/process.hpp>
#include <det/preemption/notice_page.hpp>
#include <det/preemption/term_handler.hpp>

#include <boost/test/unit_test.hpp>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fmt/format.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "check_result.hpp"
#include "temporary_directory.hpp"

using namespace det;
using namespace det::preemption;

namespace term_handler_test {

namespace fs = std::filesystem;

/// Exit code, or 128 + signal; kills the process if it does not end within 20 s.
int wait_for(pid_t process) {
    auto const deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    int status = 0;
    while (::waitpid(process, &status, WNOHANG) == 0) {
        if (std::chrono::steady_clock::now() > deadline) ::kill(process, SIGKILL);
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return exit_code_of_wait_status(status);
}

/// A run's notice page, and a program of the name that Slurm's senders of signals have.
struct Run {
    TemporaryDirectory directory;
    fs::path const path = directory / notice_file;

    Run() {
        must(NoticePage::create(path));
        fs::copy_file("/bin/bash", directory / "slurmstepd");
    }
    bool is_raised() const { return must(NoticePage::open(path)).is_raised(); }
    /// Sends TERM as Slurm does, by a process that lives until its name has been looked up.
    void notify(pid_t process) const {
        auto const line = fmt::format("kill -TERM {}; sleep 0.5; true", process);
        BOOST_REQUIRE(must(SystemProcessRunner().run(
                               {{directory / "slurmstepd", "-c", line}, Environment::of_this_process()}))
                          .exit_code == 0);
    }
    /// Runs `work` in a child of this process, which ends with 0 after it.
    template <class Work>
    pid_t fork_and(Work work) const {
        auto const process = ::fork();
        if (process != 0) return process;
        work();
        ::_exit(0);
    }
    /// The same in a child that handles signals like a new program.
    template <class Work>
    pid_t fork_program(Work work) const {
        return fork_and([&] {
            ::signal(SIGTERM, SIG_DFL);
            sigset_t none;
            ::sigemptyset(&none);
            ::sigprocmask(SIG_SETMASK, &none, nullptr);
            work();
        });
    }
    void mark(char const* name) const { must(write_file(directory / name, "")); }
    void wait_for_mark(char const* name) const {
        auto const deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        while (!path_exists(directory / name) && std::chrono::steady_clock::now() < deadline)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    /// A process that has opened a context, until the file `stop` exists.
    pid_t start_program() const {
        auto const program = fork_program([&] {
            auto const handler = must(TermHandler::install(path));
            mark("ready");
            wait_for_mark("stop");
        });
        wait_for_mark("ready");
        return program;
    }
};

}  // namespace term_handler_test

BOOST_FIXTURE_TEST_SUITE(term_handler_test, Run)

BOOST_AUTO_TEST_CASE(slurms_notice_raises_the_page_and_the_terms_of_launchers_that_follow_have_no_effect) {
    auto const program = start_program();
    notify(program);
    BOOST_TEST(is_raised());
    ::kill(program, SIGTERM);  // torchrun ends its workers when it gets Slurm's notice
    mark("stop");
    BOOST_TEST(wait_for(program) == 0);
}

BOOST_AUTO_TEST_CASE(without_a_notice_a_term_of_another_process_ends_the_program) {
    auto const program = start_program();
    ::kill(program, SIGTERM);
    BOOST_TEST(wait_for(program) == 128 + SIGTERM);
    BOOST_TEST(!is_raised());
}

BOOST_AUTO_TEST_CASE(children_survive_slurms_notice_but_their_parent_can_terminate_them) {
    auto const program = fork_program([&] {
        auto const handler = must(TermHandler::install(path));
        auto const child = fork_and([&] { wait_for_mark("never"); });
        notify(child);
        int status = 0;
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        if (::waitpid(child, &status, WNOHANG) != 0) ::_exit(3);
        if (is_raised()) ::_exit(4);  // the notice is for this process
        notify(::getpid());
        ::kill(child, SIGTERM);
        if (wait_for(child) != 128 + SIGTERM) ::_exit(5);
    });
    BOOST_TEST(wait_for(program) == 0);
    BOOST_TEST(is_raised());
}

/// What torch installs in the workers of a DataLoader: TERM of the parent ends a worker with 0.
void end_well(int, siginfo_t* info, void*) { ::_exit(info->si_pid == ::getppid() ? 0 : 9); }

BOOST_AUTO_TEST_CASE(a_child_with_a_handler_of_its_own_survives_slurms_notice_and_handles_every_other_term) {
    auto const program = fork_program([&] {
        auto const handler = must(TermHandler::install(path));
        auto const child = fork_and([&] {
            struct sigaction own {};
            own.sa_sigaction = end_well;
            own.sa_flags = SA_SIGINFO;
            ::sigaction(SIGTERM, &own, nullptr);
            TermHandler::wrap_handler_of_child();
            TermHandler::wrap_handler_of_child();
            mark("worker");
            wait_for_mark("never");
        });
        wait_for_mark("worker");
        notify(child);
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        int status = 0;
        if (::waitpid(child, &status, WNOHANG) != 0) ::_exit(3);
        ::kill(child, SIGTERM);
        if (wait_for(child) != 0) ::_exit(4);
    });
    BOOST_TEST(wait_for(program) == 0);
}

BOOST_AUTO_TEST_CASE(executed_programs_have_the_default_action) {
    auto const program = fork_program([&] {
        auto const handler = must(TermHandler::install(path));
        auto const child = fork_and([&] { ::execlp("sleep", "sleep", "60", nullptr); });
        ::kill(child, SIGTERM);
        if (wait_for(child) != 128 + SIGTERM) ::_exit(3);
    });
    BOOST_TEST(wait_for(program) == 0);
}

BOOST_AUTO_TEST_CASE(a_handler_of_the_program_stays_whenever_it_was_installed) {
    auto const handler_now = [] {
        struct sigaction now {};
        ::sigaction(SIGTERM, nullptr, &now);
        return now.sa_handler;
    };
    auto const own = +[](int) {};
    auto const program = fork_program([&] {
        ::signal(SIGTERM, own);
        {
            auto const handler = must(TermHandler::install(path));
            if (handler_now() != own) ::_exit(3);
        }
        if (handler_now() != own) ::_exit(4);
        ::signal(SIGTERM, SIG_DFL);
        {
            auto const handler = must(TermHandler::install(path));
            if (handler_now() == SIG_DFL) ::_exit(5);
            ::signal(SIGTERM, own);
        }
        if (handler_now() != own) ::_exit(6);
        ::signal(SIGTERM, SIG_DFL);
        { auto const handler = must(TermHandler::install(path)); }
        if (handler_now() != SIG_DFL) ::_exit(7);
    });
    BOOST_TEST(wait_for(program) == 0);
}

BOOST_AUTO_TEST_SUITE_END()
