#include "roll.hpp"

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

bool is_worker(Hello const& hello) { return hello.kind == Hello::Kind::worker; }

void note(Hello const& hello, Goodbye const& goodbye, LaunchFacts& facts) {
    if (goodbye.exit_code == 0) return;
    if (is_worker(hello) && goodbye.exit_code == 128 + SIGTERM) {
        facts.was_ordered_to_end = true;
        return;
    }
    auto& first = is_worker(hello) ? facts.first_failure : facts.remote_failure;
    if (!first) first = goodbye.exit_code;
}

}  // namespace

Result<Roll> Roll::open(std::filesystem::path const& path) {
    DET_TRY_ASSIGN(auto listening, listen_at(path));
    ::fcntl(listening.get(), F_SETFL, O_NONBLOCK);
    return Roll(path, std::move(listening));
}

Roll::~Roll() {
    if (listening_) ::unlink(path_.c_str());
}

void Roll::add_to(std::vector<pollfd>& polled) const {
    polled.push_back({listening_.get(), POLLIN, 0});
    for (auto const& member : members_) polled.push_back({member.socket.get(), POLLIN, 0});
}

void Roll::admit() {
    for (;;) {
        UniqueFd socket(::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
        if (!socket) return;
        members_.push_back({std::move(socket), {Hello::Kind::worker, "a worker"}, false});
    }
}

bool Roll::hear(Member& member, LaunchFacts& facts) {
    std::array<char, message_size_max> buffer;
    for (;;) {
        auto const size = ::recv(member.socket.get(), buffer.data(), buffer.size(), 0);
        if (size < 0 && (errno == EAGAIN || errno == EINTR)) return true;
        if (size <= 0) break;
        auto const message = parse_message({buffer.data(), static_cast<std::size_t>(size)});
        if (!message) continue;
        if (auto const* hello = std::get_if<Hello>(&*message)) {
            member.hello = *hello;
        } else {
            member.has_said_goodbye = true;
            note(member.hello, std::get<Goodbye>(*message), facts);
        }
    }
    if (!member.has_said_goodbye && is_worker(member.hello)) on_vanished(member, facts);
    return false;
}

void Roll::on_vanished(Member const& member, LaunchFacts& facts) {
    if (!facts.vanished) facts.vanished = member.hello.name;
    ucred who{};
    socklen_t size = sizeof who;
    // A worker leads the group that its command is in.
    bool const is_known = ::getsockopt(member.socket.get(), SOL_SOCKET, SO_PEERCRED, &who, &size) == 0;
    if (is_known && who.pid > 1) ::kill(-who.pid, SIGKILL);
}

void Roll::take_in(LaunchFacts& facts) {
    admit();
    members_.remove_if([&](Member& member) { return !hear(member, facts); });
}

int Roll::present() const {
    return static_cast<int>(
        std::ranges::count_if(members_, [](Member const& member) { return is_worker(member.hello); }));
}

}  // namespace det::launch::launchers
