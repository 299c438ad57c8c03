#include <det/foundation/diagnostic.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/process.hpp>
#include <det/launch/wrap_rank/relay.hpp>

#include <malloc.h>
#include <poll.h>
#include <sstream>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "child_watch.hpp"
#include "ending.hpp"
#include "signals.hpp"
#include "stream.hpp"

namespace det::launch::wrap_rank {
namespace {

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
    auto const status = ChildWatch(command, child, clock).until_the_end();
    auto const ended_at = clock.now();
    ending.announce(clock.steady_now() + output_grace);
    passing.join();
    if (!status) return status.error();
    if (log) log->finish();
    return describe_end(*status, ended_at, log_or_null);
}

}  // namespace det::launch::wrap_rank
