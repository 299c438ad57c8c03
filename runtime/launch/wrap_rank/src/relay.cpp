#include <det/foundation/diagnostic.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/process.hpp>
#include <det/wrap_rank/relay.hpp>

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <sstream>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "ending.hpp"
#include "signals.hpp"
#include "stream.hpp"

namespace det::wrap_rank {
namespace {

using TimePoint = std::chrono::steady_clock::time_point;

struct Pipe {
    UniqueFd read_end, write_end;
};

Result<Pipe> make_pipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return os_error("make a pipe", errno);
    return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

enum class Group { own, ours };

/// What the child does between fork and exec: only calls that are safe there.
[[noreturn]] void become(RelayedCommand const& command, Group group, pid_t parent, Pipe const& out,
                         Pipe const& err, char* const* argv, char* const* variables) {
    // A launcher that kills us with KILL means the rank.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(128 + SIGKILL);
    if (group == Group::own) ::setpgid(0, 0);
    ::dup2(out.write_end.get(), STDOUT_FILENO);
    ::dup2(err.write_end.get(), STDERR_FILENO);
    ::signal(SIGPIPE, SIG_DFL);
    ::sigprocmask(SIG_SETMASK, &command.signal_mask, nullptr);
    if (command.directory && ::chdir(command.directory->c_str()) != 0) ::_exit(127);
    ::execvpe(argv[0], argv, variables);
    int const reason = errno;
    ::dprintf(STDERR_FILENO, "det-wrap-rank: error: cannot start '%s': %s [%s]\n", argv[0],
              ::strerror(reason), reason == ENOENT ? "no-such-file" : "permission");
    ::_exit(reason == ENOENT ? 127 : 126);
}

/// The command as our child.
class Child {
public:
    static Result<Child> start(RelayedCommand const& command, Pipe const& out, Pipe const& err) {
        CStrings const argv(command.argv);
        CStrings const variables(command.environment.to_list());
        // In the terminal's foreground it stays in our group, so that it may read the terminal too.
        auto const group = is_in_foreground() ? Group::ours : Group::own;
        pid_t const parent = ::getpid();
        pid_t const child = ::fork();
        if (child < 0) return os_error("fork", errno);
        if (child == 0) become(command, group, parent, out, err, argv.data(), variables.data());
        if (group == Group::own) ::setpgid(child, child);
        return Child(child, group);
    }

    void signal(int number) const { ::kill(group_ == Group::own ? -pid_ : pid_, number); }
    /// A signal from the terminal's keys: a child in our group has it already.
    void signal_by_terminal(int number) const {
        if (group_ == Group::own) signal(number);
    }

    /// What waitpid says of it; nothing while it runs.
    std::optional<int> poll_status() const {
        int status = 0;
        return ::waitpid(pid_, &status, WNOHANG) == pid_ ? std::optional(status) : std::nullopt;
    }

private:
    Child(pid_t pid, Group group) : pid_(pid), group_(group) {}
    pid_t pid_;
    Group group_;
};

/// What is done about signals until the command ends.
class Watch {
public:
    Watch(RelayedCommand const& command, Child const& child, Clock const& clock)
        : command_(command), child_(child), clock_(clock) {}

    /// Returns what waitpid says.
    Result<int> until_the_end() {
        sigset_t const taken = relayed_signals();
        UniqueFd const signals(::signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK));
        if (!signals) return os_error("watch a process", errno);
        for (;;) {
            if (auto const status = child_.poll_status()) return *status;
            beat();
            pollfd polled{signals.get(), POLLIN, 0};
            if (::poll(&polled, 1, milliseconds_to_wait()) < 0 && errno != EINTR)
                return os_error("wait", errno);
            take_signals(signals);
            if (kill_at_ && clock_.steady_now() >= *kill_at_) {
                child_.signal(SIGKILL);
                kill_at_.reset();
            }
        }
    }

private:
    int milliseconds_to_wait() const {
        if (!kill_at_ && !beat_at_) return -1;
        auto const next = std::min(kill_at_.value_or(TimePoint::max()), beat_at_.value_or(TimePoint::max()));
        auto const left = std::chrono::ceil<std::chrono::milliseconds>(next - clock_.steady_now());
        return static_cast<int>(std::max<std::int64_t>(0, left.count()));
    }

    void beat() {
        auto const now = clock_.steady_now();
        if (!command_.beat || (beat_at_ && now < *beat_at_)) return;
        command_.beat();
        // Without its slurmstepd nobody hears of a task any more, or can end it.
        if (::getppid() != parent_) child_.signal(SIGKILL);
        beat_at_ = now + command_.beat_interval;
    }

    void take_signals(UniqueFd const& signals) {
        signalfd_siginfo info{};
        while (::read(signals.get(), &info, sizeof info) == sizeof info) {
            auto const number = static_cast<int>(info.ssi_signo);
            if (number == SIGCHLD) continue;
            if (number == SIGTERM && is_order(static_cast<pid_t>(info.ssi_pid))) {
                order_to_end();
            } else if (command_.take_signal && command_.take_signal(number)) {
                continue;
            } else if (info.ssi_code == SI_KERNEL) {
                child_.signal_by_terminal(number);
            } else {
                child_.signal(number);
            }
        }
    }

    /// Inside a run TERM is Slurm's notice, except where the launcher that started us sends it.
    bool is_order(pid_t sender) const {
        return command_.take_signal && command_.started_by == StartedBy::launcher && started_us(sender);
    }

    void order_to_end() {
        child_.signal(SIGTERM);
        if (!kill_at_) kill_at_ = clock_.steady_now() + order_grace;
    }

    RelayedCommand const& command_;
    Child const& child_;
    Clock const& clock_;
    pid_t const parent_ = ::getppid();
    std::optional<TimePoint> kill_at_, beat_at_;
};

/// Until nobody can write any more, or the ending's deadline is over. In the order in which things are said:
/// one stream is read after the other.
void pass_on(Stream& out, Stream& err, Ending const& ending, Clock const& clock) {
    while (out.fd() >= 0 || err.fd() >= 0) {
        auto const deadline = ending.deadline();
        int timeout_ms = -1;
        if (deadline) {
            auto const left = std::chrono::ceil<std::chrono::milliseconds>(*deadline - clock.steady_now());
            if (left.count() <= 0) break;
            timeout_ms = static_cast<int>(left.count());
        }
        // A pollfd of -1 is passed over: the ending's, once it is known.
        pollfd polled[] = {
            {out.fd(), POLLIN, 0}, {err.fd(), POLLIN, 0}, {deadline ? -1 : ending.fd(), POLLIN, 0}};
        ::poll(polled, std::size(polled), timeout_ms);
        if (polled[0].revents != 0) out.pass_on();
        if (polled[1].revents != 0) err.pass_on();
    }
    out.finish();
    err.finish();
}

/// On our own standard error, labelled as the command's lines are.
RankLog::Complain complain_as(std::string const& label) {
    return [label](Error const& error) {
        std::ostringstream text;
        print(text, Diagnostic{Severity::warning, error}, {Colour::never, "det-wrap-rank"});
        std::string labelled;
        LineSplitter lines;
        lines.feed(text.str(), [&](std::string_view line, LineEnd) {
            labelled.append(label).append(line).push_back('\n');
        });
        SharedOutput(STDERR_FILENO).write(labelled);
    };
}

CommandEnd describe_end(int status, UtcTime time, RankLog const* log) {
    CommandEnd end;
    end.time = time;
    if (WIFSIGNALED(status)) end.signal = WTERMSIG(status);
    end.exit_code = exit_code_of_wait_status(status);
    if (log != nullptr) end.last_words = log->last_words();
    return end;
}

}  // namespace

sigset_t block_relayed_signals() {
    sigset_t const taken = relayed_signals();
    sigset_t before;
    ::sigprocmask(SIG_BLOCK, &taken, &before);
    return before;
}

Result<CommandEnd> relay(RelayedCommand const& command, Clock const& clock) {
    ::signal(SIGPIPE, SIG_IGN);
    ::mallopt(M_ARENA_MAX, 1);  // our threads allocate little: an arena for each costs more than it saves
    auto const& labels = command.labels;
    std::optional<RankLog> log;
    if (labels.log) log.emplace(*labels.log, labels.prefix, clock, complain_as(labels.prefix));
    RankLog* const log_or_null = log ? &*log : nullptr;

    DET_TRY_ASSIGN(auto out, make_pipe());
    DET_TRY_ASSIGN(auto err, make_pipe());
    DET_TRY_ASSIGN(auto const child, Child::start(command, out, err));
    out.write_end.reset();
    err.write_end.reset();
    Stream standard_output(std::move(out.read_end), STDOUT_FILENO, labels, log_or_null, clock);
    Stream standard_error(std::move(err.read_end), STDERR_FILENO, labels, log_or_null, clock);
    Ending ending;
    // A thread of its own: a reader of ours that is stuck must not hold up a notice.
    std::jthread passing([&] { pass_on(standard_output, standard_error, ending, clock); });
    auto const status = Watch(command, child, clock).until_the_end();
    auto const ended_at = clock.now();
    ending.announce(clock.steady_now() + output_grace);
    passing.join();
    if (!status) return status.error();
    if (log) log->finish();
    return describe_end(*status, ended_at, log_or_null);
}

}  // namespace det::wrap_rank
