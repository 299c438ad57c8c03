#include <det/foundation/polling.hpp>
#include <det/foundation/text.hpp>
#include <det/launch/supervisor/node_probes.hpp>

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <memory>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

namespace det::launch::supervisor {
namespace {

namespace fs = std::filesystem;
using SteadyClock = std::chrono::steady_clock;

constexpr std::size_t block_bytes = std::size_t{1} << 20;
constexpr int between_attempts_ms = 50;

struct FreeAddresses {
    void operator()(addrinfo* list) const { ::freeaddrinfo(list); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;

Addresses resolve(std::string const& host, std::uint16_t port) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    auto const service = std::to_string(port);
    if (::getaddrinfo(host.c_str(), service.c_str(), &hints, &found) != 0) return nullptr;
    return Addresses(found);
}

/// Connects to one address.
UniqueFd connect_to_address(addrinfo const& address, SteadyClock::time_point deadline) {
    UniqueFd fd(::socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!fd) return {};
    if (::connect(fd.get(), address.ai_addr, address.ai_addrlen) != 0) {
        if (errno != EINPROGRESS || !wait_for_events(fd.get(), POLLOUT, deadline)) return {};
        int error = 0;
        socklen_t size = sizeof error;
        if (::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0 || error != 0) return {};
    }
    return fd;
}

WriteProbe failed(std::string const& what) {
    int const number = errno;
    return {os_error(what, number).message, number, 0};
}

}  // namespace

WriteProbe probe_writing(fs::path const& directory, std::string const& name, std::size_t size_bytes) {
    auto const path = directory / name;
    std::string const block(std::min(block_bytes, size_bytes), 'x');
    auto const begin = SteadyClock::now();
    UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!fd) return failed(fmt::format("create '{}'", path.string()));
    WriteProbe probe;
    for (std::size_t written = 0; written < size_bytes && probe.error.empty();) {
        auto const count = ::write(fd.get(), block.data(), std::min(block.size(), size_bytes - written));
        if (count > 0) {
            written += static_cast<std::size_t>(count);
        } else if (count == 0 || errno != EINTR) {
            probe = failed(fmt::format("write '{}'", path.string()));
        }
    }
    if (probe.error.empty() && ::fsync(fd.get()) != 0)
        probe = failed(fmt::format("sync '{}'", path.string()));
    ::unlink(path.c_str());
    auto const seconds = std::chrono::duration<double>(SteadyClock::now() - begin).count();
    if (probe.error.empty()) probe.bytes_per_s = static_cast<double>(size_bytes) / std::max(1e-6, seconds);
    return probe;
}

int count_openable_gpus(fs::path const& devices) {
    int count = 0;
    auto const add = [&](fs::path const& directory, std::string_view prefix) {
        for (auto const& name : list_directory(directory).value_or(std::vector<std::string>())) {
            bool const is_gpu =
                name.starts_with(prefix) && parse_integer<int>(std::string_view(name).substr(prefix.size()));
            UniqueFd const fd(is_gpu ? ::open((directory / name).c_str(), O_RDWR | O_CLOEXEC) : -1);
            if (fd) ++count;
        }
    };
    add(devices, "nvidia");
    if (count == 0) add(devices / "dri", "renderD");
    return count;
}

int count_allocated_gpus(Environment const& environment) {
    auto const count = parse_integer<int>(environment.find("SLURM_GPUS_ON_NODE").value_or(""));
    if (count.value_or(0) > 0) return *count;
    auto const ids =
        environment.find("SLURM_STEP_GPUS").value_or(environment.find("SLURM_JOB_GPUS").value_or(""));
    return ids.empty() ? 0 : static_cast<int>(split(ids, ',').size());
}

bool has_address(std::string const& host) { return resolve(host, 1) != nullptr; }

std::vector<std::string> addresses_of(std::string const& host) {
    std::vector<std::string> texts;
    auto const found = resolve(host, 1);
    for (auto const* each = found.get(); each != nullptr; each = each->ai_next) {
        char text[NI_MAXHOST] = "";
        if (::getnameinfo(each->ai_addr, each->ai_addrlen, text, sizeof text, nullptr, 0, NI_NUMERICHOST) ==
            0)
            texts.emplace_back(text);
    }
    return texts;
}

UniqueFd listen_on(std::uint16_t port) {
    UniqueFd fd(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    int const on = 1, off = 0;
    if (!fd) return {};
    ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    sockaddr_in6 address{};
    address.sin6_family = AF_INET6;
    address.sin6_port = htons(port);
    address.sin6_addr = in6addr_any;
    bool const listens = ::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 &&
                         ::listen(fd.get(), SOMAXCONN) == 0;
    return listens ? std::move(fd) : UniqueFd();
}

UniqueFd connect_until(std::string const& host, std::uint16_t port, SteadyClock::time_point deadline) {
    auto const addresses = resolve(host, port);
    while (SteadyClock::now() < deadline) {
        for (auto const* each = addresses.get(); each != nullptr; each = each->ai_next) {
            if (auto fd = connect_to_address(*each, deadline)) return fd;
        }
        if (addresses == nullptr) return {};
        ::poll(nullptr, 0, between_attempts_ms);
    }
    return {};
}

bool wait_for_events(int fd, short events, SteadyClock::time_point deadline) {
    auto const now = SteadyClock::now();
    if (now >= deadline) return false;
    pollfd polled{fd, events, 0};
    return ::poll(&polled, 1, poll_timeout_ms(deadline, now)) == 1;
}

}  // namespace det::launch::supervisor
