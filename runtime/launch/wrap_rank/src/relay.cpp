#include <det/foundation/files.hpp>
#include <det/foundation/process.hpp>
#include <det/wrap_rank/line_splitter.hpp>
#include <det/wrap_rank/relay.hpp>

#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace det::wrap_rank {
namespace {

constexpr std::size_t read_size_bytes = std::size_t{64} << 10;
sigset_t relayed_signals() {
    sigset_t set;
    ::sigemptyset(&set);
    for (int const number : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGWINCH}) ::sigaddset(&set, number);
    return set;
}

/// One stream of the child: pipe in, stdout or stderr and the node's log out.
class Stream {
public:
    Stream(UniqueFd from, int to, std::string const& prefix, UniqueFd const& log, Clock const& clock)
        : from_(std::move(from)), to_(to), prefix_(prefix), log_(log), clock_(clock) {
        ::fcntl(from_.get(), F_SETFL, O_NONBLOCK);
    }

    int fd() const { return from_.get(); }

    /// Passes on what is there. False when nothing more is there right now, or ever.
    bool pass_on() {
        if (!from_) return false;
        std::array<char, read_size_bytes> buffer;
        auto const count = ::read(from_.get(), buffer.data(), buffer.size());
        if (count < 0 && errno == EINTR) return true;
        if (count < 0 && errno == EAGAIN) return false;
        if (count <= 0) {
            from_.reset();
            return false;
        }
        std::string_view const bytes(buffer.data(), static_cast<std::size_t>(count));
        begin();
        splitter_.feed(bytes, [this](std::string_view line) { take(line); });
        flush(prefix_.empty() ? bytes : std::string_view(labelled_));
        return true;
    }

    void finish() {
        begin();
        splitter_.finish([this](std::string_view line) { take(line); });
        flush(labelled_);
    }

private:
    void begin() {
        labelled_.clear();
        logged_.clear();
        time_ = log_ ? format_utc(clock_.now()) + " " : "";
    }

    void take(std::string_view line) {
        if (!prefix_.empty()) labelled_.append(prefix_).append(line).append("\n");
        // At the node level a line of a rank passes by that its own wrapper has logged already.
        bool const logged_by_rank = prefix_.empty() && line.starts_with("[rank=");
        if (log_ && !logged_by_rank) logged_.append(time_).append(prefix_).append(line).append("\n");
    }

    void flush(std::string_view bytes) {
        // Whoever reads may have gone: the command goes on all the same.
        if (!bytes.empty()) (void)write_all(to_, bytes, "standard output");
        // One write of whole lines: those of other ranks, who append to the same file, don't get in between.
        if (!logged_.empty()) (void)write_all(log_.get(), logged_, "log");
    }

    UniqueFd from_;
    int to_;
    std::string const& prefix_;
    UniqueFd const& log_;
    Clock const& clock_;
    LineSplitter splitter_;
    std::string labelled_, logged_, time_;
};

struct Pipe {
    UniqueFd read_end, write_end;
};

Result<Pipe> make_pipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return os_error("make a pipe", errno);
    return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

/// What the child does between fork and exec: only calls that are safe there.
[[noreturn]] void become(RelayedCommand const& command, Pipe const& out, Pipe const& err, char* const* argv,
                         char* const* variables) {
    ::dup2(out.write_end.get(), STDOUT_FILENO);
    ::dup2(err.write_end.get(), STDERR_FILENO);
    ::signal(SIGPIPE, SIG_DFL);
    ::sigprocmask(SIG_SETMASK, &command.signal_mask, nullptr);
    if (command.directory && ::chdir(command.directory->c_str()) != 0) ::_exit(127);
    ::execvpe(argv[0], argv, variables);
    int const reason = errno;
    ::dprintf(STDERR_FILENO, "det-wrap-rank: error: cannot start '%s': %s [no-such-file]\n", argv[0],
              ::strerror(reason));
    ::_exit(reason == ENOENT ? 127 : 126);
}

Result<pid_t> start(RelayedCommand const& command, Pipe const& out, Pipe const& err) {
    CStrings const argv(command.argv);
    CStrings const variables(command.environment.to_list());
    pid_t const child = ::fork();
    if (child < 0) return os_error("fork", errno);
    if (child == 0) become(command, out, err, argv.data(), variables.data());
    return child;
}

CommandEnd reap(pid_t child) {
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFSIGNALED(status) ? CommandEnd{128 + WTERMSIG(status), WTERMSIG(status)}
                               : CommandEnd{WEXITSTATUS(status), 0};
}

void pass_signals_on(int signal_fd, pid_t child, RelayedCommand const& command) {
    signalfd_siginfo info{};
    while (::read(signal_fd, &info, sizeof info) == sizeof info) {
        auto const number = static_cast<int>(info.ssi_signo);
        bool const taken = command.take_signal && command.take_signal(number);
        if (!taken && info.ssi_code != SI_KERNEL) {  // from a terminal the child has it already
            ::kill(child, number);
        }
    }
}

/// Until the child has ended.
Status watch(pid_t child, RelayedCommand const& command, Stream& out, Stream& err) {
    sigset_t const taken = relayed_signals();
    UniqueFd const signals(::signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK));
    UniqueFd const ended(static_cast<int>(::syscall(SYS_pidfd_open, child, 0)));
    if (!signals || !ended) return os_error("watch a process", errno);
    for (;;) {
        std::array<pollfd, 4> polled{pollfd{out.fd(), POLLIN, 0}, pollfd{err.fd(), POLLIN, 0},
                                     pollfd{signals.get(), POLLIN, 0}, pollfd{ended.get(), POLLIN, 0}};
        if (::poll(polled.data(), polled.size(), -1) < 0 && errno != EINTR) return os_error("wait", errno);
        if (polled[2].revents != 0) pass_signals_on(signals.get(), child, command);
        if (polled[0].revents != 0) out.pass_on();
        if (polled[1].revents != 0) err.pass_on();
        if (polled[3].revents != 0) return Ok{};
    }
}

}  // namespace

sigset_t block_relayed_signals() {
    sigset_t const taken = relayed_signals();
    sigset_t before;
    ::sigprocmask(SIG_BLOCK, &taken, &before);
    return before;
}

Result<CommandEnd> relay(RelayedCommand const& command, Clock const& clock) {
    UniqueFd log;
    if (command.labels.log) {
        log = UniqueFd(::open(command.labels.log->c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
        if (!log) return os_error(fmt::format("open the log '{}'", command.labels.log->string()), errno);
    }
    DET_TRY_ASSIGN(auto out, make_pipe());
    DET_TRY_ASSIGN(auto err, make_pipe());
    ::signal(SIGPIPE, SIG_IGN);
    DET_TRY_ASSIGN(pid_t const child, start(command, out, err));
    out.write_end.reset();
    err.write_end.reset();
    Stream standard_output(std::move(out.read_end), STDOUT_FILENO, command.labels.prefix, log, clock);
    Stream standard_error(std::move(err.read_end), STDERR_FILENO, command.labels.prefix, log, clock);
    DET_TRY(watch(child, command, standard_output, standard_error));
    for (auto* stream : {&standard_output, &standard_error}) {
        while (stream->pass_on()) {
        }
        stream->finish();
    }
    return reap(child);
}

}  // namespace det::wrap_rank
