#include "connect.hpp"

#include <det/collectives/device/device_group.hpp>
#include <det/collectives/nccl/nccl_backend.hpp>
#include <det/collectives/node/node_group.hpp>
#include <det/collectives/two_level.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>
#include <det/liveness/lost_peer.hpp>
#include <det/liveness/wait_recorder.hpp>
#include <det/protocol/rank_failure.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <unistd.h>

#include "launch_directory.hpp"

namespace det::core {
namespace {

using collectives::DistributedContext;
using collectives::Topology;
using Ranks = Result<std::unique_ptr<collectives::RankGroup>>;

/// Writes "det: " and the line to stderr.
void write_line(std::string const& line) {
    (void)write_all(STDERR_FILENO, "det: " + line + "\n", "standard error");
}

/// Reads DET_COLLECTIVE_TIMEOUT_S. Fails with codes::misuse if it is not a positive number of seconds.
Result<liveness::WaitPolicy> find_wait_policy(ContextOptions const& options) {
    liveness::WaitPolicy waits{.on_long_wait = warning_handler(options)};
    auto const text = options.environment.find_non_empty("DET_COLLECTIVE_TIMEOUT_S");
    if (!text) return waits;
    auto const seconds = parse_integer<int>(*text);
    if (!seconds || *seconds <= 0) {
        return Error{codes::misuse,
                     fmt::format("DET_COLLECTIVE_TIMEOUT_S='{}' is no number of seconds", *text)};
    }
    waits.timeout = std::chrono::seconds(*seconds);
    return waits;
}

/// Opens the page in DET_RUN_DIR on which this rank records its waits for other ranks; the node's rank
/// wrapper reads it. Returns null if there is no page, or no slot on it for this rank: training does not need
/// it.
std::shared_ptr<liveness::WaitRecorder> open_recorder(RankIdentity const& identity,
                                                      std::optional<Info> const& info) {
    int const local_rank = identity.topology.local_rank;
    if (!info || local_rank >= liveness::WaitPage::slots_max) return nullptr;
    auto page = liveness::WaitPage::open_for_writing(info->run_dir / liveness::wait_page_file, local_rank);
    if (!page) return nullptr;
    return std::make_shared<liveness::WaitRecorder>(*std::move(page), local_rank, identity.rank);
}

/// The tuning of collectives that use a transport. With DET_DEBUG=collectives the chief prints the algorithm
/// of each operation.
collectives::Tuning tuning_for(RankIdentity const& identity, Environment const& environment) {
    collectives::Tuning tuning;
    auto const wanted = environment.find("DET_DEBUG").value_or("");
    bool const is_wanted = std::ranges::count(split(wanted, ','), "collectives") > 0;
    if (is_wanted && identity.rank == 0) tuning.explain = write_line;
    return tuning;
}

/// Where the ranks of a node find each other.
struct NodeRendezvous {
    std::filesystem::path directory;
    std::string name;       // of the socket
    std::string node_name;  // for messages; may be empty
    bool is_temporary;      // the ranks make the directory, and remove it
};

/// Returns the run's directory in a run. Outside of a run returns a private directory that is named after the
/// launcher's job or the program's group; nullopt if there is neither.
std::optional<NodeRendezvous> find_node_rendezvous(RankNumbers const& numbers,
                                                   std::optional<Info> const& info,
                                                   Environment const& environment) {
    auto const name =
        numbers.group.empty() ? rendezvous_socket_name(environment) : socket_name_of_group(numbers.group);
    if (info) return NodeRendezvous{info->run_dir, name, info->cluster.agent_id, false};
    auto const directory = numbers.group.empty()
                               ? find_launch_directory(environment)
                               : std::optional(launch_directory(environment, numbers.group));
    if (!directory) return std::nullopt;
    return NodeRendezvous{*directory, name, {}, true};
}

/// Connects the ranks of a node through shared memory. `self` is this process's rank in the group of `size`
/// ranks that is made.
Ranks connect_node(Rank self, int size, NodeRendezvous const& place, liveness::WaitPolicy const& waits) {
    if (size == 1) return collectives::make_single_rank();
    if (place.is_temporary) DET_TRY(make_private_directory(place.directory));
    DET_TRY_ASSIGN(auto ranks, collectives::node::join_at({place.directory, place.name, self, size},
                                                          {.node_name = place.node_name, .waits = waits}));
    // All ranks have joined. rmdir fails, as intended, if the directory contains other files.
    if (place.is_temporary && self == Rank{0}) ::rmdir(place.directory.c_str());
    return ranks;
}

/// The group of all ranks. `local` is the group of this node's ranks, if `ranks` was made of it.
struct Connected {
    std::unique_ptr<collectives::RankGroup> ranks;
    std::shared_ptr<collectives::RankGroup> local = nullptr;
};

Result<Connected> connect_host(RankNumbers const& numbers, std::optional<Info> const& info,
                               ContextOptions const& options, liveness::WaitPolicy const& waits) {
    auto const& identity = numbers.identity;
    auto const& topology = identity.topology;
    if (identity.size == 1) return Connected{collectives::make_single_rank()};
    auto const place = find_node_rendezvous(numbers, info, options.environment);
    if (place && topology.local_size == identity.size) {
        // By rank: a program that numbers its ranks itself may use other local ranks.
        DET_TRY_ASSIGN(auto ranks, connect_node(Rank{identity.rank}, identity.size, *place, waits));
        return Connected{std::move(ranks)};
    }
    auto const tuning = tuning_for(identity, options.environment);
    DET_TRY_ASSIGN(auto transport, open_transport(numbers, info, options.environment, waits));
    // All nodes must choose the same kind of group. Outside of a run the directory may be named after the
    // launcher's job, which may be unknown on some nodes: then no node uses shared memory.
    if (!place || (!info && numbers.group.empty())) {
        DET_TRY_ASSIGN(auto ranks, collectives::make_transport_group(std::move(transport), tuning));
        return Connected{std::move(ranks)};
    }
    DET_TRY_ASSIGN(auto node, connect_node(Rank{topology.local_rank}, topology.local_size, *place, waits));
    std::shared_ptr<collectives::RankGroup> const local(std::move(node));
    DET_TRY_ASSIGN(auto ranks, collectives::make_two_level(std::move(transport), local, topology, tuning));
    return Connected{std::move(ranks), local};
}

using Backend = std::shared_ptr<collectives::device::DeviceBackend>;

Result<WithDevices> open_devices(Devices kind, Backend backend, liveness::WaitPolicy const& waits) {
    if (backend == nullptr) {
        DET_TRY_ASSIGN(
            backend, kind == Devices::rccl ? collectives::nccl::open_rccl() : collectives::nccl::open_nccl());
    }
    return WithDevices([=](std::shared_ptr<collectives::RankGroup> host) {
        return collectives::device::make_device_group(std::move(host), backend, waits);
    });
}

}  // namespace

Result<WithDevices> open_devices(Devices kind, ContextOptions const& options) {
    DET_TRY_ASSIGN(auto const waits, find_wait_policy(options));
    return open_devices(kind, options.device_backend, waits);
}

std::filesystem::path find_lost_peer_file(std::optional<Info> const& info, Environment const& environment) {
    auto const name = environment.find_non_empty(variables::lost_peer_file);
    return info && name ? info->run_dir / *name : std::filesystem::path();
}

void start_recording_lost_peers(std::filesystem::path const& file) {
    if (file.empty()) return;
    liveness::set_lost_peer_handler(
        [file](std::string const& message) { (void)write_new_file(file, message); });
}

void stop_recording_lost_peers(std::filesystem::path const& file) {
    if (file.empty()) return;
    liveness::set_lost_peer_handler({});
    ::unlink(file.c_str());
}

std::function<void(std::string const&)> warning_handler(ContextOptions const& options) {
    if (options.on_warning) return options.on_warning;
    return [](std::string const& text) { write_line("warning: " + text); };
}

Result<DistributedContext> connect(RankNumbers const& numbers, std::optional<Info> const& info,
                                   ContextOptions const& options) {
    auto const& identity = numbers.identity;
    DET_TRY(collectives::check(identity.topology, Rank{identity.rank}, identity.size));
    if (identity.size == 1 && options.devices == Devices::none) return DistributedContext::single();
    DET_TRY_ASSIGN(auto waits, find_wait_policy(options));
    waits.recorder = open_recorder(identity, info);
    start_recording_lost_peers(find_lost_peer_file(info, options.environment));
    DET_TRY_ASSIGN(auto connected, connect_host(numbers, info, options, waits));
    if (options.devices != Devices::none) {
        DET_TRY_ASSIGN(auto const with_devices, open_devices(options.devices, options.device_backend, waits));
        connected.ranks = with_devices(std::move(connected.ranks));
    }
    DET_TRY_ASSIGN(auto context, DistributedContext::make(std::move(connected.ranks), identity.topology,
                                                          std::move(connected.local)));
    context.record_operations(std::move(waits.recorder));
    return context;
}

}  // namespace det::core
