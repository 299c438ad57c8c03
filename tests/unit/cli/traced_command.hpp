#pragma once
#include <boost/test/unit_test.hpp>
#include <csignal>
#include <filesystem>
#include <fmt/format.h>
#include <set>
#include <string>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace det::cli {

enum class Then { go_on, kill };

/// Runs `command` in a child and asks `at_stop` at each stop of one of its threads at a system call. Returns
/// whether it was killed; a command that is not must return 0.
template <class Command, class AtStop>
bool run_traced(Command command, AtStop at_stop) {
    auto const child = ::fork();
    BOOST_REQUIRE(child >= 0);
    if (child == 0) {
        if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) ::_exit(111);
        ::raise(SIGSTOP);
        ::_exit(command());
    }
    int status = 0;
    BOOST_REQUIRE(::waitpid(child, &status, 0) == child);
    BOOST_REQUIRE_MESSAGE(WIFSTOPPED(status), "the child can't be traced here: " << status);
    constexpr int system_call_stop = SIGTRAP | 0x80;  // PTRACE_O_TRACESYSGOOD
    ::ptrace(PTRACE_SETOPTIONS, child, nullptr,
             PTRACE_O_EXITKILL | PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE);
    for (pid_t thread = child;;) {
        ::ptrace(PTRACE_SYSCALL, thread, nullptr, nullptr);
        thread = ::waitpid(-1, &status, __WALL);
        BOOST_REQUIRE(thread > 0);
        if (WIFSTOPPED(status)) {
            if (WSTOPSIG(status) == system_call_stop && at_stop(thread) == Then::kill) ::kill(child, SIGKILL);
        } else if (thread == child) {
            if (WIFSIGNALED(status)) return true;
            BOOST_REQUIRE(WEXITSTATUS(status) == 0);
            return false;
        }
    }
}

/// Kills the command at its stop number `stop`, from 0. Returns false if it ended before.
template <class Command>
bool run_and_kill(int stop, Command command) {
    return run_traced(command, [&](pid_t) { return stop-- == 0 ? Then::kill : Then::go_on; });
}

/// Returns the files and directories that the command syncs to the disk.
template <class Command>
std::set<std::filesystem::path> list_synced(Command command) {
    std::set<std::filesystem::path> synced;
    run_traced(command, [&](pid_t child) {
        __ptrace_syscall_info info{};
        ::ptrace(PTRACE_GET_SYSCALL_INFO, child, sizeof info, &info);
        if (info.op == PTRACE_SYSCALL_INFO_ENTRY && info.entry.nr == SYS_fsync)
            synced.insert(
                std::filesystem::read_symlink(fmt::format("/proc/{}/fd/{}", child, info.entry.args[0])));
        return Then::go_on;
    });
    return synced;
}

}  // namespace det::cli
