#include <det/foundation/orphans.hpp>
#include <det/foundation/process.hpp>
#include <det/foundation/signal_sender.hpp>
#include <det/foundation/spawn.hpp>
#include <det/foundation/text.hpp>
#include <det/foundation/unix_socket.hpp>
#include <det/launch/launchers/worker.hpp>
#include <det/protocol/launcher_environment.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.hpp"

namespace det::launch::launchers {
namespace {

constexpr std::string_view worker_word = "worker ", remote_word = "remote ", exit_word = "exit ";

/// The rank's name for messages, from the variables that launchers set.
std::string rank_name(Environment const& environment) {
    auto const rank = find_rank([&](std::string_view name) { return environment.find_non_empty(name); });
    return rank ? "rank " + *rank : fmt::format("process {}", ::getpid());
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
    ::setpgid(0, 0);  // the monitor kills this group, which includes the command
    auto const parent = open_pidfd(::getppid());
    auto const watch = register_worker(environment);
    auto const notices = notice_signals(environment);
    DET_TRY_ASSIGN(auto signals, open_forwarded_signals());
    Orphans orphans;
    DET_TRY_ASSIGN(auto child, Child::start(command, environment, signals.mask_before(), Group::ours));
    orphans.exclude(child.pid());
    bool has_slurm_notice = false;
    std::optional<std::chrono::steady_clock::time_point> notice_until;
    pollfd polled[] = {{child.pidfd(), POLLIN, 0},
                       {signals.fd(), POLLIN, 0},
                       {parent.get(), POLLIN, 0},  // -1, never ready, if the parent can't be watched
                       {watch.get(), POLLIN, 0}};
    constexpr int orphan_interval_ms = 100;
    for (;;) {
        int const timeout_ms = polled[0].fd < 0 ? orphan_interval_ms : -1;
        if (::poll(polled, std::size(polled), timeout_ms) < 0 && errno != EINTR)
            return os_error("wait", errno);
        while (auto const info = signals.take()) {
            // Slurm, the rank's wrapper and that of the node send these signals to the command too.
            auto const number = static_cast<int>(info->ssi_signo);
            if (std::find(notices.begin(), notices.end(), number) == notices.end()) child.signal(number);
            if (number == SIGTERM && is_sent_by_slurm(static_cast<pid_t>(info->ssi_pid), info->ssi_uid))
                has_slurm_notice = true;
        }
        if (polled[2].revents != 0 || polled[3].revents != 0) ::kill(0, SIGKILL);
        auto status = child.poll_wait_status();
        if (status) polled[0].fd = -1;
        auto const now = std::chrono::steady_clock::now();
        if (status && !notice_until) notice_until = now + Orphans::notice_delay_max;
        if (status && (has_slurm_notice || now < *notice_until)) status = orphans.end_after_notice(*status);
        if (status) {
            WorkerEnd const end{exit_code_of_wait_status(*status),
                                WIFSIGNALED(*status) ? WTERMSIG(*status) : 0};
            if (watch) send_message(watch, WorkerExit{end.exit_code});
            return end;
        }
    }
}

std::string render_message(Message const& message) {
    if (auto const* hello = std::get_if<WorkerHello>(&message)) {
        auto const word = hello->kind == WorkerHello::Kind::worker ? worker_word : remote_word;
        return std::string(word) + hello->name.substr(0, message_size_max - word.size());
    }
    return fmt::format("{}{}", exit_word, std::get<WorkerExit>(message).exit_code);
}

std::optional<Message> parse_message(std::string_view text) {
    if (text.starts_with(worker_word)) {
        return WorkerHello{WorkerHello::Kind::worker, std::string(text.substr(worker_word.size()))};
    }
    if (text.starts_with(remote_word)) {
        return WorkerHello{WorkerHello::Kind::remote, std::string(text.substr(remote_word.size()))};
    }
    if (!text.starts_with(exit_word)) return std::nullopt;
    auto const code = parse_integer<int>(text.substr(exit_word.size()));
    if (!code || *code < 0 || *code > 255) return std::nullopt;
    return WorkerExit{*code};
}

Result<UniqueFd> listen_at(std::filesystem::path const& path) {
    DET_TRY_ASSIGN(auto const address,
                   unix_socket::Address::make(path.parent_path(), path.filename().string()));
    DET_TRY_ASSIGN(auto socket, unix_socket::open_socket());
    if (::bind(socket.get(), address.get(), address.size()) != 0 || ::listen(socket.get(), SOMAXCONN) != 0)
        return os_error(fmt::format("listen at '{}'", path.string()), errno);
    return Result<UniqueFd>(std::move(socket));
}

std::optional<UniqueFd> connect_to(std::filesystem::path const& path) {
    auto const address = unix_socket::Address::make(path.parent_path(), path.filename().string());
    auto socket = unix_socket::open_socket();
    if (!address || !socket || ::connect(socket->get(), address->get(), address->size()) != 0)
        return std::nullopt;
    return *std::move(socket);
}

void send_message(UniqueFd const& socket, Message const& message) {
    auto const text = render_message(message);
    // An error means that the monitor has ended, which needs no message.
    (void)::send(socket.get(), text.data(), text.size(), MSG_NOSIGNAL);
}

}  // namespace det::launch::launchers
