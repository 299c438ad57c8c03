#include "rank_processes.hpp"

#include <det/foundation/diagnostic.hpp>
#include <det/foundation/files.hpp>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <csignal>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sstream>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace det {
namespace {

using std::chrono::steady_clock;

struct Child {
    pid_t pid = 0;
    UniqueFd errors;  // read end of a pipe for the error text
};

[[noreturn]] void run_rank(Rank rank, int out, std::function<Status(Rank)> const& body) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    auto const result = body(rank);
    if (!result) {
        std::ostringstream text;
        print(text, result.error(), RenderStyle{});
        (void)write_all(out, text.str(), "a pipe");
    }
    ::_exit(0);
}

Child start(Rank rank, std::function<Status(Rank)> const& body) {
    int ends[2] = {};
    BOOST_REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
    UniqueFd reader(ends[0]), writer(ends[1]);
    pid_t const pid = ::fork();
    BOOST_REQUIRE(pid >= 0);
    if (pid == 0) run_rank(rank, writer.get(), body);
    return {pid, std::move(reader)};
}

/// Reads from the pipe. At its end the process is reaped at once, because its peers may check whether it is
/// alive.
void read_from(Child& child, RankOutcome& outcome) {
    char bytes[4096];
    auto const size = ::read(child.errors.get(), bytes, sizeof bytes);
    if (size > 0) {
        outcome.error_text.append(bytes, static_cast<std::size_t>(size));
        return;
    }
    child.errors.reset();
    int status = 0;
    BOOST_REQUIRE(::waitpid(child.pid, &status, 0) == child.pid);
    if (WIFSIGNALED(status)) outcome.signal = WTERMSIG(status);
    if (WIFEXITED(status) && WEXITSTATUS(status) != 0) {  // for example a sanitizer error
        outcome.error_text += fmt::format("exit code {}", WEXITSTATUS(status));
    }
}

/// Returns false when all ranks have ended or the deadline has passed.
bool read_some(std::vector<Child>& children, std::vector<RankOutcome>& outcomes,
               steady_clock::time_point deadline) {
    std::vector<pollfd> entries;
    for (auto const& child : children) entries.push_back({child.errors.get(), POLLIN, 0});
    if (std::ranges::all_of(entries, [](pollfd const& entry) { return entry.fd < 0; })) return false;
    auto const left = std::chrono::ceil<std::chrono::milliseconds>(deadline - steady_clock::now());
    int const ready = ::poll(entries.data(), entries.size(), std::max(0, static_cast<int>(left.count())));
    if (ready == 0) return false;
    for (std::size_t i = 0; i < entries.size(); ++i) {
        if (ready > 0 && entries[i].revents != 0) read_from(children[i], outcomes[i]);
    }
    return true;
}

}  // namespace

std::vector<RankOutcome> run_rank_processes(int size, std::function<Status(Rank)> const& body,
                                            std::chrono::seconds limit) {
    auto const deadline = steady_clock::now() + limit;
    std::vector<Child> children;
    for (int rank = 0; rank < size; ++rank) children.push_back(start({rank}, body));
    std::vector<RankOutcome> outcomes(children.size());
    while (read_some(children, outcomes, deadline)) {
    }
    for (std::size_t i = 0; i < children.size(); ++i) {
        if (!children[i].errors) continue;
        ::kill(children[i].pid, SIGKILL);  // works for a stopped process too
        while (children[i].errors) read_from(children[i], outcomes[i]);
        outcomes[i].error_text += "it did not end in time";
    }
    return outcomes;
}

void check_ranks(std::vector<RankOutcome> const& outcomes) {
    for (std::size_t rank = 0; rank < outcomes.size(); ++rank) {
        auto const& [signal, error_text] = outcomes[rank];
        if (signal) BOOST_ERROR("rank " << rank << " was ended by signal " << *signal);
        if (!error_text.empty()) BOOST_ERROR("rank " << rank << ": " << error_text);
    }
}

}  // namespace det
