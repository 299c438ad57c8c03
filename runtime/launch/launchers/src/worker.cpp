#include <det/foundation/process.hpp>
#include <det/foundation/spawn.hpp>
#include <det/launch/launchers/messages.hpp>
#include <det/launch/launchers/worker.hpp>

#include <cerrno>
#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.hpp"

namespace det::launch::launchers {
namespace {

/// The rank's name for messages, from the variables that launchers set.
std::string rank_name(Environment const& environment) {
    for (auto const* name : {"OMPI_COMM_WORLD_RANK", "HOROVOD_RANK", "PMI_RANK", "RANK"}) {
        if (auto const rank = environment.find_non_empty(name)) return "rank " + *rank;
    }
    return fmt::format("process {}", ::getpid());
}

UniqueFd register_worker(Environment const& environment) {
    auto const path = environment.find_non_empty(socket_variable);
    auto socket = path ? connect_to(*path) : std::nullopt;
    if (!socket) return {};
    send_message(*socket, WorkerHello{WorkerHello::Kind::worker, rank_name(environment)});
    return std::move(*socket);
}

}  // namespace

Result<WorkerEnd> run_worker(std::vector<std::string> const& command, Environment const& environment) {
    ::setpgid(0, 0);  // the group that the monitor kills contains the command too
    auto const parent = open_pidfd(::getppid());
    auto const watch = register_worker(environment);
    DET_TRY_ASSIGN(auto signals, ForwardedSignals::take());
    DET_TRY_ASSIGN(auto child, Child::start(command, environment, signals.mask_before(), Group::ours));
    pollfd polled[] = {{child.pidfd(), POLLIN, 0},
                       {signals.fd(), POLLIN, 0},
                       {parent.get(), POLLIN, 0},  // -1, never ready, if the parent can't be watched
                       {watch.get(), POLLIN, 0}};
    for (;;) {
        if (::poll(polled, std::size(polled), -1) < 0 && errno != EINTR) return os_error("wait", errno);
        for (int const number : signals.read()) child.signal(number);
        if (polled[2].revents != 0 || polled[3].revents != 0) ::kill(0, SIGKILL);
        if (auto const status = child.poll_status()) {
            WorkerEnd const end{exit_code_of_wait_status(*status),
                                WIFSIGNALED(*status) ? WTERMSIG(*status) : 0};
            if (watch) send_message(watch, WorkerExit{end.exit_code});
            return end;
        }
    }
}

}  // namespace det::launch::launchers
