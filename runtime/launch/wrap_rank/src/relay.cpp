#include "relay.hpp"

#include <det/foundation/diagnostic.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/line_queue.hpp>
#include <det/foundation/process.hpp>

#include <atomic>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <sstream>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "child.hpp"
#include "output_forwarder.hpp"

namespace det::launch::wrap_rank {
namespace {

/// Tells the forwarding thread that the command has ended. Processes that the command started may hold its
/// output open: their output is read until the deadline.
class EndEvent {
public:
    using TimePoint = std::chrono::steady_clock::time_point;

    EndEvent() : event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

    void announce(TimePoint deadline) {
        deadline_ns_.store(deadline.time_since_epoch().count(), std::memory_order_release);
        std::uint64_t const one = 1;
        (void)!::write(event_.get(), &one, sizeof one);
    }
    /// Becomes readable with announce(), and stays readable.
    int fd() const { return event_.get(); }
    std::optional<TimePoint> deadline() const {
        auto const ns = deadline_ns_.load(std::memory_order_acquire);
        return ns == 0 ? std::nullopt : std::optional(TimePoint(TimePoint::duration(ns)));
    }

private:
    UniqueFd event_;
    std::atomic<TimePoint::rep> deadline_ns_ = 0;
};

/// Forwards both streams until all writers have closed them, or until the deadline after the command's end.
/// The streams are read alternately.
void forward(OutputForwarder& out, OutputForwarder& err, EndEvent const& ending, Clock const& clock) {
    while (out.fd() >= 0 || err.fd() >= 0) {
        auto const deadline = ending.deadline();
        auto const now = clock.steady_now();
        if (deadline && now >= *deadline) break;
        // poll(2) ignores a descriptor of -1: the end event is known by then.
        pollfd polled[] = {
            {out.fd(), POLLIN, 0}, {err.fd(), POLLIN, 0}, {deadline ? -1 : ending.fd(), POLLIN, 0}};
        ::poll(polled, std::size(polled), poll_timeout_ms(deadline, now));
        if (polled[0].revents != 0) out.forward();
        if (polled[1].revents != 0) err.forward();
    }
    out.finish();
    err.finish();
}

/// Returns a handler that prints errors to standard error with the label of the command's lines.
NodeLogWriter::ErrorHandler labelled_error_printer(std::string const& label) {
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

CommandEnd describe_end(int status, UtcTime time, NodeLogWriter const* log) {
    CommandEnd end;
    end.time = time;
    if (WIFSIGNALED(status)) end.signal = WTERMSIG(status);
    end.exit_code = exit_code_of_wait_status(status);
    if (log != nullptr) end.last_output = log->last_output();
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
    ::mallopt(M_ARENA_MAX, 1);  // the threads of the wrapper allocate little: one malloc arena is enough
    auto const& labels = command.labels;
    std::optional<NodeLogWriter> log;
    if (labels.log) log.emplace(*labels.log, labels.prefix, clock, labelled_error_printer(labels.prefix));
    // The log is on the shared file system: if that does not answer, the command's output still goes on.
    std::optional<LineQueue> queue;
    if (log)
        queue.emplace("det-log", [&log](std::string_view lines, std::size_t missing) {
            log->append(lines);
            log->add_missing(missing);
        });
    LineQueue* const log_or_null = queue ? &*queue : nullptr;

    DET_TRY_ASSIGN(auto out, make_pipe());
    DET_TRY_ASSIGN(auto err, make_pipe());
    std::optional<Orphans> orphans;
    if (command.awaits_orphans) orphans.emplace();
    DET_TRY_ASSIGN(auto const child, Child::start(command, out, err));
    if (orphans) orphans->exclude(child.pid());
    UniqueFd error_pipe;
    auto const& errors = command.merges_streams ? out : err;
    if (!command.stack_helper.empty())
        error_pipe = UniqueFd(::fcntl(errors.read_end.get(), F_DUPFD_CLOEXEC, 0));
    out.write_end.reset();
    err.write_end.reset();
    OutputForwarder standard_output(std::move(out.read_end), STDOUT_FILENO, labels, log_or_null, clock);
    OutputForwarder standard_error(std::move(err.read_end), STDERR_FILENO, labels, log_or_null, clock);
    EndEvent ending;
    // A separate thread forwards the output, so that a blocked reader does not delay a notice.
    std::jthread forwarding([&] { forward(standard_output, standard_error, ending, clock); });
    std::optional<ChildMonitor> monitor;
    monitor.emplace(command, child, error_pipe, orphans ? &*orphans : nullptr, clock);
    auto const status = monitor->wait_for_exit();
    auto const ended_at = clock.now();
    ending.announce(clock.steady_now() + output_grace);
    forwarding.join();
    if (status && command.when_ended) command.when_ended(exit_code_of_wait_status(*status));
    monitor.reset();
    if (!status) return status.error();
    queue.reset();
    if (log) log->finish();
    return describe_end(*status, ended_at, log ? &*log : nullptr);
}

}  // namespace det::launch::wrap_rank
