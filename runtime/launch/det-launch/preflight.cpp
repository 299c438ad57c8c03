#include "preflight.hpp"

#include <det/foundation/executable.hpp>
#include <det/foundation/file_facts.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/process.hpp>
#include <det/foundation/text.hpp>
#include <det/launch/node/network.hpp>
#include <det/launch/node/node_topology.hpp>
#include <det/launch/supervisor/node_probes.hpp>
#include <det/launch/supervisor/node_rendezvous.hpp>
#include <det/protocol/host_list.hpp>
#include <det/protocol/preflight_facts.hpp>
#include <det/slurm/srun.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <fmt/format.h>
#include <iterator>
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
constexpr auto transfer_time = 1s;  // for which node 1 sends
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

std::vector<std::string> unresolved_among(std::vector<std::string> const& hosts) {
    std::vector<std::string> unresolved;
    std::ranges::copy_if(hosts, std::back_inserter(unresolved),
                         [](auto const& host) { return !supervisor::has_address(host); });
    return unresolved;
}

/// Called on node 0. Measures how many bytes per second arrive from node 1.
std::optional<double> receive_from_peer(supervisor::NodeRendezvous const& rendezvous) {
    auto listener = supervisor::NodeListener::open(rendezvous);
    auto const peer = listener ? listener->accept_node(SteadyClock::now() + meeting_time) : UniqueFd();
    if (!peer) return std::nullopt;
    std::vector<char> block(block_bytes);
    std::uint64_t received = 0;
    auto const begin = SteadyClock::now();
    auto const deadline = begin + 5 * transfer_time;
    for (;;) {
        if (!supervisor::wait_for_events(peer.get(), POLLIN, deadline)) return std::nullopt;
        auto const count = ::recv(peer.get(), block.data(), block.size(), 0);
        if (count < 0) return std::nullopt;
        if (count == 0) break;
        received += static_cast<std::uint64_t>(count);
    }
    return received == 0 ? std::nullopt : std::optional(static_cast<double>(received) / seconds_since(begin));
}

/// Called on node 1. Sends to node 0 for a second.
void send_to_peer(supervisor::NodeRendezvous const& rendezvous) {
    auto const fd = supervisor::connect_to_node(rendezvous, 0, SteadyClock::now() + meeting_time);
    std::vector<char> const block(block_bytes, 'x');
    auto const end = SteadyClock::now() + transfer_time;
    while (fd && SteadyClock::now() < end) {
        if (!supervisor::wait_for_events(fd.get(), POLLOUT, end)) return;
        auto const sent = ::send(fd.get(), block.data(), block.size(), MSG_NOSIGNAL);
        if (sent < 0 && errno != EAGAIN) return;
    }
}

/// The port depends on the job id, so that jobs that share a node rarely use the same port.
std::uint16_t port_of_job(Environment const& environment) {
    return static_cast<std::uint16_t>(port_base + number_in(environment, "SLURM_JOB_ID") % port_count);
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
    auto wanted = slurm::required_slurm_commands();
    wanted.emplace_back("bash");
    std::ranges::copy_if(wanted, std::back_inserter(missing),
                         [&](auto const& program) { return !is_in_path(program, path); });
    for (auto const* own : {"det-batch", "det-wrap-rank", "det-rsh"}) {
        if (::access(sibling_program(own).c_str(), X_OK) != 0) missing.emplace_back(own);
    }
    return missing;
}

std::string try_runtime(std::string const& program, Environment const& environment) {
    if (program.empty()) return "";
    SystemProcessRunner runner;
    auto const output = runner.run({{program, "--version"}, environment, 10s});
    if (!output) return output.error().message;
    return output->exit_code == 0 ? "" : std::string(trim(output->err.empty() ? output->out : output->err));
}

StorageFacts try_storage(fs::path const& directory, std::uint32_t index) {
    if (auto const made = make_directories(directory); !made) return {made.error().message, 0, 0};
    auto const probe = supervisor::probe_writing(
        directory, fmt::format(".det-preflight-{}-{}", ::getpid(), index), storage_bytes);
    StorageFacts facts{probe.error, probe.bytes_per_s, 0};
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
    facts.program = file_fingerprint(own_executable());
    facts.clock_offset_us = measure_clock_offset_us(request.directory).value_or(0);
    facts.path = environment.find("PATH").value_or("");
    facts.missing_programs = missing_programs(facts.path);
    facts.limits = read_limits();
    facts.unresolved = unresolved_among(hosts);
    facts.interfaces = node::detect_network(hosts, static_cast<int>(facts.index), environment).interface;
    auto const secret = read_file(request.directory / preflight_secret_file);
    if (secret && hosts.size() > 1) {
        supervisor::NodeRendezvous const rendezvous{*secret, "preflight", hosts, facts.index,
                                                    port_of_job(environment)};
        if (facts.index == 0) facts.bytes_per_s = receive_from_peer(rendezvous);
        if (facts.index == 1) send_to_peer(rendezvous);
    }
    facts.gpus_allocated = supervisor::count_allocated_gpus(environment);
    facts.gpus_visible = supervisor::count_openable_gpus();
    facts.gpu_numa_nodes = node::read_gpu_numa_nodes();
    facts.core_numa_nodes = node::numa_nodes_of_equal_shares(node::read_cores(node::online_cpus()),
                                                             static_cast<int>(facts.gpu_numa_nodes.size()));
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
