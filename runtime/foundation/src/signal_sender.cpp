#include <det/foundation/signal_sender.hpp>

#include <algorithm>
#include <array>
#include <fcntl.h>
#include <iterator>
#include <string_view>
#include <unistd.h>

// A signal handler calls this: no function here allocates, locks or uses the locale.
namespace det {
namespace {

constexpr std::string_view step_daemon = "slurmstepd\n";

/// The path "/proc/PID/comm".
std::array<char, 32> comm_path(pid_t process) noexcept {
    constexpr std::string_view before = "/proc/", after = "/comm";
    std::array<char, 12> digits;
    auto first = digits.end();
    do *--first = static_cast<char>('0' + process % 10);
    while ((process /= 10) > 0);
    std::array<char, 32> path{};
    auto end = std::copy(before.begin(), before.end(), path.begin());
    end = std::copy(first, digits.end(), end);
    std::copy(after.begin(), after.end(), end);
    return path;
}

}  // namespace

bool is_sent_by_slurm(pid_t sender, uid_t sender_user) noexcept {
    if (sender <= 0) return sender == 0;
    std::array<char, 32> name{};
    int const file = ::open(comm_path(sender).data(), O_RDONLY | O_CLOEXEC);
    auto const size = file < 0 ? -1 : ::read(file, name.data(), name.size());
    if (file >= 0) ::close(file);
    if (size > 0) return std::string_view(name.data(), static_cast<std::size_t>(size)) == step_daemon;
    // Where users do not see the processes of others, only root's are hidden from a task of its own user.
    return sender_user == 0 && ::getuid() != 0;
}

}  // namespace det
