// det-batch: the process of a batch job that Slurm signals. It runs the supervisor, and once more if that is
// killed.
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <dirent.h>
#include <string>
#include <string_view>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "help_page.hpp"

namespace {

constexpr int usage_error = 2, could_not = 1;
constexpr int starts_max = 2;

void log(std::string const& line) {
    timeval now{};
    ::gettimeofday(&now, nullptr);
    tm utc{};
    ::gmtime_r(&now.tv_sec, &utc);
    char time[32];
    std::strftime(time, sizeof time, "%Y-%m-%dT%H:%M:%S", &utc);
    std::printf("%s.%06ldZ det-batch: %s\n", time, static_cast<long>(now.tv_usec), line.c_str());
    std::fflush(stdout);
}

/// The signals that are passed on: all that a process can catch, except those that the kernel sends for an
/// error of this process, or for its children and its terminal.
sigset_t signals_to_pass_on() {
    sigset_t all;
    ::sigfillset(&all);
    for (int const own :
         {SIGSEGV, SIGILL, SIGFPE, SIGBUS, SIGABRT, SIGTRAP, SIGSYS, SIGCHLD, SIGPIPE, SIGTTIN, SIGTTOU})
        ::sigdelset(&all, own);
    return all;
}

/// The signals that stay blocked in the supervisor until it reads or unblocks them, so that none of them ends
/// it while it starts: a batch script of the user may be sent any of them (`#SBATCH --signal`).
sigset_t signals_of_supervisor() {
    auto mask = signals_to_pass_on();
    for (int const number : {SIGTSTP, SIGCONT}) ::sigdelset(&mask, number);
    return mask;
}

/// Runs the supervisor, and reaps all processes whose parents have ended.
class BatchProcess {
public:
    explicit BatchProcess(char** command) : command_(command) {
        waited_ = signals_to_pass_on();
        ::sigaddset(&waited_, SIGCHLD);
        // From here on a signal waits until the supervisor exists.
        ::sigprocmask(SIG_BLOCK, &waited_, &mask_before_);
        ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    }

    int run() {
        ::setenv("DET_BATCH_PID", std::to_string(::getpid()).c_str(), 1);
        for (int start = 1;; ++start) {
            if (!begin()) return could_not;
            int const status = wait();
            bool const was_killed =
                WIFSIGNALED(status) && ::sigismember(&signals_sent_, WTERMSIG(status)) != 1;
            if (!was_killed || start == starts_max) return end_like(status);
            log("the supervisor was ended by signal " + std::to_string(WTERMSIG(status)) +
                ": it is started again");
            kill_orphans();
            ::setenv("DET_SUPERVISOR_RESTARTS", std::to_string(start).c_str(), 1);
        }
    }

private:
    bool begin() {
        pid_t const self = ::getpid();
        supervisor_ = ::fork();
        if (supervisor_ == 0) exec(self);
        if (supervisor_ < 0) {
            log(std::string("cannot fork: ") + std::strerror(errno));
            return false;
        }
        // The first supervisor may not have handled the notice.
        if (::sigismember(&signals_sent_, SIGTERM) == 1) ::kill(supervisor_, SIGTERM);
        return true;
    }

    [[noreturn]] void exec(pid_t parent) {
        // When this process is killed, Slurm ends the job. The supervisor must not go on meanwhile.
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (::getppid() != parent) ::_exit(could_not);
        auto const mask = signals_of_supervisor();
        ::sigprocmask(SIG_SETMASK, &mask, nullptr);
        ::execvp(command_[0], command_);
        log(std::string("cannot start '") + command_[0] + "': " + std::strerror(errno));
        ::_exit(errno == ENOENT ? 127 : 126);
    }

    /// Passes signals on until the supervisor has ended.
    /// \return its status of waitpid(2)
    int wait() {
        for (;;) {
            siginfo_t info{};
            int const number = ::sigwaitinfo(&waited_, &info);
            if (number < 0) continue;  // EINTR: the process was stopped and continued
            if (number != SIGCHLD) {
                ::sigaddset(&signals_sent_, number);
                ::kill(supervisor_, number);
                continue;
            }
            if (auto const status = reap(); has_ended_) return status;
        }
    }

    /// Reaps all processes that have ended. Sets has_ended_ if the supervisor is among them.
    /// \return the supervisor's status then
    int reap() {
        int of_supervisor = 0, status = 0;
        has_ended_ = false;
        for (pid_t pid = ::waitpid(-1, &status, WNOHANG); pid > 0; pid = ::waitpid(-1, &status, WNOHANG)) {
            if (pid != supervisor_) continue;
            of_supervisor = status;
            has_ended_ = true;
        }
        return of_supervisor;
    }

    /// Kills the processes that the killed supervisor has left: srun, scontrol and others. Their own children
    /// become children of this process. Gives up on processes that do not end, as on a file system that does
    /// not answer.
    void kill_orphans() {
        constexpr int rounds_max = 1000;
        for (int round = 0; round < rounds_max; ++round) {
            int status = 0;
            while (::waitpid(-1, &status, WNOHANG) > 0) {
            }
            if (::waitpid(-1, &status, WNOHANG) < 0 && errno == ECHILD) return;
            kill_children();
            timespec const pause{0, 10'000'000};
            ::nanosleep(&pause, nullptr);
        }
        log("processes of the killed supervisor do not end");
    }

    static void kill_children() {
        DIR* const processes = ::opendir("/proc");
        if (processes == nullptr) return;
        while (auto const* const entry = ::readdir(processes)) {
            auto const pid = static_cast<pid_t>(std::atol(entry->d_name));
            if (pid > 0 && parent_of(pid) == ::getpid()) ::kill(pid, SIGKILL);
        }
        ::closedir(processes);
    }

    /// \return -1 if the process does not exist
    static pid_t parent_of(pid_t pid) {
        auto const path = "/proc/" + std::to_string(pid) + "/stat";
        FILE* const file = std::fopen(path.c_str(), "re");
        if (file == nullptr) return -1;
        char text[512];
        auto const size = std::fread(text, 1, sizeof text - 1, file);
        std::fclose(file);
        text[size] = '\0';
        // The name of the program, in parentheses, may contain parentheses and blanks.
        char const* const name_end = std::strrchr(text, ')');
        char state = 0;
        int parent = -1;
        if (name_end == nullptr || std::sscanf(name_end, ") %c %d", &state, &parent) != 2) return -1;
        return parent;
    }

    /// Ends as the supervisor has ended.
    static int end_like(int status) {
        if (!WIFSIGNALED(status)) return WEXITSTATUS(status);
        int const number = WTERMSIG(status);
        rlimit const no_core{0, 0};  // the supervisor has written one
        ::setrlimit(RLIMIT_CORE, &no_core);
        std::signal(number, SIG_DFL);
        sigset_t one;
        ::sigemptyset(&one);
        ::sigaddset(&one, number);
        ::sigprocmask(SIG_UNBLOCK, &one, nullptr);
        ::raise(number);
        return 128 + number;
    }

    char** command_;
    sigset_t waited_{}, mask_before_{};
    sigset_t signals_sent_{};
    pid_t supervisor_ = -1;
    bool has_ended_ = false;
};

}  // namespace

int main(int argc, char** argv) {
    std::string_view const first = argc > 1 ? argv[1] : "";
    if (first == "--help" || first == "-h") {
        auto const page = det::launch::batch::find_page("det-batch");
        std::fwrite(page.data(), 1, page.size(), stdout);
        return 0;
    }
    if (first.empty() || first.starts_with('-')) {
        std::fputs("usage: det-batch COMMAND [ARG...] (det-batch --help)\n", stderr);
        return usage_error;
    }
    return BatchProcess(argv + 1).run();
}
