#include "local_ranks.hpp"

#include <det/collectives/node/node_group.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/polling.hpp>
#include <det/foundation/process.hpp>
#include <det/foundation/spawn.hpp>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace det::measure {
namespace {

constexpr std::chrono::seconds exit_timeout{10};  // for the end of a rank's process after its work

/// Returns the exit code, or nullopt if the process does not end in time or can't be waited for.
std::optional<int> wait_for(pid_t pid) {
    auto const process = open_pidfd(pid);
    pollfd ended{process.get(), POLLIN, 0};
    auto const deadline = std::chrono::steady_clock::now() + exit_timeout;
    int ready = -1;
    do {
        ready = ::poll(&ended, 1, poll_timeout_ms(deadline, std::chrono::steady_clock::now()));
    } while (ready < 0 && errno == EINTR);
    int status = 0;
    if (ready != 1 || ::waitpid(pid, &status, WNOHANG) != pid) return std::nullopt;
    return exit_code_of_wait_status(status);
}

void kill_all(std::vector<pid_t> const& processes) {
    for (auto const pid : processes) ::kill(pid, SIGKILL);
    for (auto const pid : processes) ::waitpid(pid, nullptr, 0);
}

}  // namespace

Result<LocalRanks> LocalRanks::start(int count) {
    DET_TRY_ASSIGN(auto const memory,
                   collectives::node::create_shared_memory(count, collectives::node::geometry_for(count)));
    std::vector<pid_t> others;
    Rank own{0};
    auto const parent = ::getpid();
    for (int rank = 1; rank < count; ++rank) {
        auto const pid = ::fork();
        if (pid < 0) {
            auto const error = os_error("start a rank", errno);
            kill_all(others);
            return error;
        }
        if (pid == 0) {
            own = {rank};
            others.clear();
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            if (::getppid() != parent) ::raise(SIGKILL);
            break;
        }
        others.push_back(pid);
    }
    auto const make = [&]() -> Result<collectives::DistributedContext> {
        if (count == 1) return collectives::DistributedContext::single();
        DET_TRY_ASSIGN(auto group, collectives::node::map_and_join(memory, own));
        return collectives::DistributedContext::make(std::move(group), {own.value, count, 0, 1});
    };
    auto ranks = make();
    if (ranks) return LocalRanks(std::move(others), *std::move(ranks));
    kill_all(others);
    return std::move(ranks).error();
}

LocalRanks::~LocalRanks() { kill_all(others_); }

Status LocalRanks::finish() {
    while (!others_.empty()) {
        auto const rank = others_.size();
        auto const exit_code = wait_for(others_.back());
        if (!exit_code) return Error{codes::timed_out, fmt::format("rank {} does not end", rank)};
        others_.pop_back();
        if (*exit_code != 0)
            return Error{codes::process, fmt::format("rank {} ended with {}", rank, *exit_code)};
    }
    return Ok{};
}

}  // namespace det::measure
