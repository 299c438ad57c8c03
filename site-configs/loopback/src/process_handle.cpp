#include "process_handle.hpp"

#include <det/foundation/spawn.hpp>
#include <det/foundation/text.hpp>

#include <cerrno>
#include <csignal>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

namespace det::loopback {
namespace {

std::optional<ProcessIdentity> read_stat(std::string const& path) {
    auto const text = read_file(path);
    return text ? parse_stat(*text) : std::nullopt;
}

}  // namespace

std::optional<ProcessIdentity> parse_stat(std::string_view text) {
    // The format is "pid (name) state ...". The name may contain spaces and parentheses, so it ends at the
    // last ')'.
    auto const name_end = text.rfind(')');
    auto const pid_end = text.find(' ');
    if (name_end == std::string_view::npos || name_end + 2 > text.size()) return std::nullopt;
    auto const fields = split(text.substr(name_end + 2), ' ');
    constexpr std::size_t state = 0, start_time = 22 - 3;
    if (fields.size() <= start_time || fields[state] == "Z" || fields[state] == "X") return std::nullopt;
    auto const pid = parse_integer<pid_t>(text.substr(0, pid_end));
    auto const ticks = parse_integer<std::uint64_t>(fields[start_time]);
    if (!pid || !ticks) return std::nullopt;
    return ProcessIdentity{*pid, *ticks};
}

std::optional<ProcessIdentity> identify(pid_t pid) { return read_stat(fmt::format("/proc/{}/stat", pid)); }

std::optional<ProcessIdentity> identify_self() { return read_stat("/proc/self/stat"); }

std::optional<ProcessHandle> ProcessHandle::open(ProcessIdentity const& identity) {
    if (identity.pid <= 0) return std::nullopt;
    auto fd = open_pidfd(identity.pid);
    // Compares after the pidfd is open, because the pid could otherwise be reused before the open.
    if (!fd || identify(identity.pid) != identity) return std::nullopt;
    return ProcessHandle(identity.pid, std::move(fd));
}

void ProcessHandle::signal(int number) const { (void)send_signal(fd_, pid_, number); }

bool ProcessHandle::wait_until(Deadline const& deadline) const {
    for (;;) {
        pollfd polled{fd_.get(), POLLIN, 0};
        auto const ready = ::poll(&polled, 1, deadline.milliseconds_left());
        if (ready > 0) return true;
        if (ready == 0 || errno != EINTR) return false;
    }
}

void restore_default_signals() {
    for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_DFL);
    auto const none = signal_set({});
    ::pthread_sigmask(SIG_SETMASK, &none, nullptr);
}

}  // namespace det::loopback
