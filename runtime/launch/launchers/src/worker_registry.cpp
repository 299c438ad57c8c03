#include "worker_registry.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

namespace det::launch::launchers {
namespace {

bool is_worker(WorkerHello const& hello) { return hello.kind == WorkerHello::Kind::worker; }

void record_exit(WorkerHello const& hello, WorkerExit const& exit, LaunchFacts& facts) {
    if (exit.exit_code == 0) return;
    if (is_worker(hello) && exit.exit_code == 128 + SIGTERM) {
        facts.was_terminated = true;
        return;
    }
    auto& first = is_worker(hello) ? facts.first_failure : facts.remote_failure;
    if (!first) first = exit.exit_code;
}

}  // namespace

Result<WorkerRegistry> WorkerRegistry::open(std::filesystem::path const& path) {
    DET_TRY_ASSIGN(auto listening, listen_at(path));
    ::fcntl(listening.get(), F_SETFL, O_NONBLOCK);
    return WorkerRegistry(path, std::move(listening));
}

WorkerRegistry::~WorkerRegistry() {
    if (listening_) ::unlink(path_.c_str());
}

void WorkerRegistry::add_to(std::vector<pollfd>& polled) const {
    polled.push_back({listening_.get(), POLLIN, 0});
    for (auto const& member : members_) polled.push_back({member.socket.get(), POLLIN, 0});
}

void WorkerRegistry::accept_workers() {
    for (;;) {
        UniqueFd socket(::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
        if (!socket) return;
        members_.push_back({std::move(socket), {WorkerHello::Kind::worker, "a worker"}, false});
    }
}

bool WorkerRegistry::receive(Member& member, LaunchFacts& facts) {
    std::array<char, message_size_max> buffer;
    for (;;) {
        auto const size = ::recv(member.socket.get(), buffer.data(), buffer.size(), 0);
        if (size < 0 && (errno == EAGAIN || errno == EINTR)) return true;
        if (size <= 0) break;
        auto const message = parse_message({buffer.data(), static_cast<std::size_t>(size)});
        if (!message) continue;
        if (auto const* hello = std::get_if<WorkerHello>(&*message)) {
            member.hello = *hello;
        } else {
            member.has_exited = true;
            record_exit(member.hello, std::get<WorkerExit>(*message), facts);
        }
    }
    if (!member.has_exited && is_worker(member.hello)) on_disconnect(member, facts);
    return false;
}

void WorkerRegistry::on_disconnect(Member const& member, LaunchFacts& facts) {
    if (!facts.disconnected) facts.disconnected = member.hello.name;
    ucred who{};
    socklen_t size = sizeof who;
    // A worker leads the process group of its command.
    bool const is_known = ::getsockopt(member.socket.get(), SOL_SOCKET, SO_PEERCRED, &who, &size) == 0;
    if (is_known && who.pid > 1) ::kill(-who.pid, SIGKILL);
}

void WorkerRegistry::process_messages(LaunchFacts& facts) {
    accept_workers();
    members_.remove_if([&](Member& member) { return !receive(member, facts); });
}

int WorkerRegistry::connected() const {
    return static_cast<int>(
        std::ranges::count_if(members_, [](Member const& member) { return is_worker(member.hello); }));
}

}  // namespace det::launch::launchers
