#include "preflight.hpp"

#include <det/foundation/executable.hpp>
#include <det/foundation/file_facts.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/process.hpp>
#include <det/foundation/text.hpp>
#include <det/launch/node/network.hpp>
#include <det/protocol/host_list.hpp>
#include <det/protocol/preflight_facts.hpp>
#include <det/slurm/srun.hpp>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <iterator>
#include <memory>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <unistd.h>

namespace det::launch {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using SteadyClock = std::chrono::steady_clock;

constexpr auto meeting_time = 15s;  // for the other node to listen or to connect
constexpr auto transfer_time = 1s;  // of the measurement
constexpr std::size_t block_bytes = std::size_t{1} << 20;
constexpr std::size_t storage_bytes = std::size_t{32} << 20;
constexpr int port_base = 20'000;
constexpr int port_count = 10'000;

double seconds_since(SteadyClock::time_point begin) {
    return std::max(1e-6, std::chrono::duration<double>(SteadyClock::now() - begin).count());
}

std::vector<std::string> hosts_of(Environment const& environment) {
    auto const list = expand_host_list(environment.find("SLURM_JOB_NODELIST").value_or(""));
    return list ? *list : std::vector<std::string>{};
}

int number_in(Environment const& environment, std::string_view name) {
    return parse_integer<int>(environment.find(name).value_or("")).value_or(0);
}

// ---- names and the network ----

struct FreeAddresses {
    void operator()(addrinfo* list) const { ::freeaddrinfo(list); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;

Addresses resolve(std::string const& host, int port) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    auto const service = std::to_string(port);
    if (::getaddrinfo(host.c_str(), service.c_str(), &hints, &found) != 0) return nullptr;
    return Addresses(found);
}

std::vector<std::string> unresolved_among(std::vector<std::string> const& hosts) {
    std::vector<std::string> unresolved;
    for (auto const& host : hosts) {
        if (resolve(host, 1) == nullptr) unresolved.push_back(host);
    }
    return unresolved;
}

bool wait_for(int fd, short events, SteadyClock::time_point deadline) {
    auto const left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - SteadyClock::now()).count();
    pollfd polled{fd, events, 0};
    return left > 0 && ::poll(&polled, 1, static_cast<int>(left)) == 1;
}

UniqueFd listen_on(int port) {
    UniqueFd fd(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
    int const on = 1, off = 0;
    if (!fd) return {};
    ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    sockaddr_in6 address{};
    address.sin6_family = AF_INET6;
    address.sin6_port = htons(static_cast<std::uint16_t>(port));
    address.sin6_addr = in6addr_any;
    bool const listens = ::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 &&
                         ::listen(fd.get(), 1) == 0;
    return listens ? std::move(fd) : UniqueFd();
}

/// Node 0: counts what node 1 sends.
std::optional<double> receive_from_peer(int port) {
    auto const listener = listen_on(port);
    auto deadline = SteadyClock::now() + meeting_time;
    if (!listener || !wait_for(listener.get(), POLLIN, deadline)) return std::nullopt;
    UniqueFd peer(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!peer) return std::nullopt;
    std::vector<char> block(block_bytes);
    std::uint64_t received = 0;
    auto const begin = SteadyClock::now();
    deadline = begin + 5 * transfer_time;
    for (;;) {
        if (!wait_for(peer.get(), POLLIN, deadline)) return std::nullopt;
        auto const count = ::recv(peer.get(), block.data(), block.size(), 0);
        if (count < 0) return std::nullopt;
        if (count == 0) break;
        received += static_cast<std::uint64_t>(count);
    }
    return received == 0 ? std::nullopt : std::optional(static_cast<double>(received) / seconds_since(begin));
}

UniqueFd connect_to_host(std::string const& host, int port) {
    auto const addresses = resolve(host, port);
    auto const deadline = SteadyClock::now() + meeting_time;
    while (SteadyClock::now() < deadline) {
        for (auto const* each = addresses.get(); each != nullptr; each = each->ai_next) {
            UniqueFd fd(::socket(each->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
            if (fd && ::connect(fd.get(), each->ai_addr, each->ai_addrlen) == 0) return fd;
        }
        ::poll(nullptr, 0, 50);  // node 0 may not listen yet
    }
    return {};
}

/// Node 1: sends for a second.
void send_to_peer(std::string const& host, int port) {
    auto const fd = connect_to_host(host, port);
    std::vector<char> const block(block_bytes, 'x');
    auto const end = SteadyClock::now() + transfer_time;
    while (fd && SteadyClock::now() < end) {
        if (::send(fd.get(), block.data(), block.size(), MSG_NOSIGNAL) < 0) return;
    }
}

/// Two jobs that share a node use different ports.
int port_of_job(Environment const& environment) {
    return port_base + number_in(environment, "SLURM_JOB_ID") % port_count;
}

// ---- limits, programs, devices, storage ----

std::map<std::string, std::int64_t> read_limits() {
    std::map<std::string, std::int64_t> limits;
    auto const add = [&](char const* name, int resource) {
        rlimit limit{};
        if (::getrlimit(static_cast<__rlimit_resource>(resource), &limit) != 0) return;
        limits[name] = limit.rlim_cur == RLIM_INFINITY ? -1 : static_cast<std::int64_t>(limit.rlim_cur);
    };
    add("memlock_bytes", RLIMIT_MEMLOCK);
    add("open_files", RLIMIT_NOFILE);
    add("address_space_bytes", RLIMIT_AS);
    add("processes", RLIMIT_NPROC);
    return limits;
}

bool is_in_path(std::string_view program, std::string const& path) {
    for (auto const directory : split(path, ':')) {
        if (::access((fs::path(directory) / program).c_str(), X_OK) == 0) return true;
    }
    return false;
}

std::vector<std::string> missing_programs(std::string const& path) {
    std::vector<std::string> missing;
    auto wanted = slurm::commands_in_jobs();
    wanted.emplace_back("bash");
    std::ranges::copy_if(wanted, std::back_inserter(missing),
                         [&](auto const& program) { return !is_in_path(program, path); });
    for (auto const* own : {"det-wrap-rank", "det-rsh"}) {
        if (::access(sibling_program(own).c_str(), X_OK) != 0) missing.emplace_back(own);
    }
    return missing;
}

/// Counts the devices of NVIDIA and AMD that this process may open.
int count_visible_gpus() {
    int count = 0;
    auto const add = [&](fs::path const& directory, std::string_view prefix) {
        for (auto const& name : list_directory(directory).value_or(std::vector<std::string>())) {
            bool const is_gpu =
                name.starts_with(prefix) && parse_integer<int>(std::string_view(name).substr(prefix.size()));
            UniqueFd const fd(is_gpu ? ::open((directory / name).c_str(), O_RDWR | O_CLOEXEC) : -1);
            if (fd) ++count;
        }
    };
    add("/dev", "nvidia");
    if (count == 0) add("/dev/dri", "renderD");
    return count;
}

int count_allocated_gpus(Environment const& environment) {
    if (int const count = number_in(environment, "SLURM_GPUS_ON_NODE"); count > 0) return count;
    auto const ids =
        environment.find("SLURM_STEP_GPUS").value_or(environment.find("SLURM_JOB_GPUS").value_or(""));
    return ids.empty() ? 0 : static_cast<int>(split(ids, ',').size());
}

std::string try_runtime(std::string const& program, Environment const& environment) {
    if (program.empty()) return "";
    SystemProcessRunner runner;
    auto const output = runner.run({{program, "--version"}, environment, 10s});
    if (!output) return output.error().message;
    return output->exit_code == 0 ? "" : std::string(trim(output->err.empty() ? output->out : output->err));
}

StorageFacts try_storage(fs::path const& directory, std::uint32_t index) {
    StorageFacts facts;
    if (auto const made = make_directories(directory); !made) return {made.error().message, 0, 0};
    auto const path = directory / fmt::format(".det-preflight-{}-{}", ::getpid(), index);
    std::string const block(block_bytes, 'x');
    auto const begin = SteadyClock::now();
    UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!fd) return {os_error(fmt::format("create '{}'", path.string()), errno).message, 0, 0};
    for (std::size_t written = 0; written < storage_bytes && facts.error.empty(); written += block.size()) {
        if (auto const done = write_all(fd.get(), block, "write '" + path.string() + "'"); !done)
            facts.error = done.error().message;
    }
    if (facts.error.empty() && ::fsync(fd.get()) != 0)
        facts.error = os_error(fmt::format("sync '{}'", path.string()), errno).message;
    facts.write_bytes_per_s = static_cast<double>(storage_bytes) / seconds_since(begin);
    ::unlink(path.c_str());
    struct statvfs info {};
    if (::statvfs(directory.c_str(), &info) == 0)
        facts.free_bytes = std::uint64_t{info.f_bavail} * std::uint64_t{info.f_frsize};
    return facts;
}

PreflightFacts measure(PreflightRequest const& request, Environment const& environment) {
    PreflightFacts facts;
    auto const hosts = hosts_of(environment);
    facts.index = static_cast<std::uint32_t>(std::max(0, number_in(environment, "SLURM_NODEID")));
    facts.node = environment.find("SLURMD_NODENAME").value_or("");
    facts.is_directory_same =
        read_file(request.directory / preflight_token_file).value_or("") == request.token;
    facts.program = identify_file(own_executable());
    facts.clock_offset_us = measure_clock_offset_us(request.directory).value_or(0);
    facts.path = environment.find("PATH").value_or("");
    facts.missing_programs = missing_programs(facts.path);
    facts.limits = read_limits();
    facts.unresolved = unresolved_among(hosts);
    facts.interfaces = node::detect_network(hosts, static_cast<int>(facts.index), environment).interface;
    if (hosts.size() > 1 && facts.index == 0) facts.bytes_per_s = receive_from_peer(port_of_job(environment));
    if (facts.index == 1) send_to_peer(hosts[0], port_of_job(environment));
    facts.gpus_allocated = count_allocated_gpus(environment);
    facts.gpus_visible = count_visible_gpus();
    facts.runtime_error = try_runtime(request.container_runtime, environment);
    if (!request.storage.empty()) facts.storage = try_storage(request.storage, facts.index);
    return facts;
}

}  // namespace

Status run_preflight(PreflightRequest const& request, Environment const& environment) {
    auto const facts = measure(request, environment);
    return write_file(request.directory / preflight_file_name(facts.index), render_preflight_facts(facts));
}

}  // namespace det::launch
