#include "connect.hpp"

#include <det/collectives/device/device_group.hpp>
#include <det/collectives/two_level.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>
#ifdef DET_WITH_NCCL
#include <det/collectives/nccl/nccl_backend.hpp>
#endif
#include <det/collectives/node/node_group.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <unistd.h>

#include "launch_directory.hpp"

namespace det::core {
namespace {

using collectives::DistributedContext;
using Ranks = Result<std::unique_ptr<collectives::RankGroup>>;

/// Writes "det: " and the line to stderr.
void write_line(std::string const& line) {
    (void)write_all(STDERR_FILENO, "det: " + line + "\n", "standard error");
}

/// Reads DET_COLLECTIVE_TIMEOUT_S. Fails with codes::misuse if it is not a positive number of seconds.
Result<Timeouts> find_timeouts(ContextOptions const& options) {
    Timeouts timeouts;
    timeouts.warn = warning_handler(options);
    auto const text = options.environment.find_non_empty("DET_COLLECTIVE_TIMEOUT_S");
    if (!text) return timeouts;
    auto const seconds = parse_integer<int>(*text);
    if (!seconds || *seconds <= 0) {
        return Error{codes::misuse,
                     fmt::format("DET_COLLECTIVE_TIMEOUT_S='{}' is no number of seconds", *text)};
    }
    timeouts.timeout = std::chrono::seconds(*seconds);
    return timeouts;
}

/// With DET_DEBUG=collectives the chief prints the algorithm of each operation.
collectives::Tuning tuning_for(RankIdentity const& identity, Environment const& environment) {
    collectives::Tuning tuning;
    auto const wanted = environment.find("DET_DEBUG").value_or("");
    bool const is_wanted = std::ranges::count(split(wanted, ','), "collectives") > 0;
    if (is_wanted && identity.rank == 0) tuning.explain = write_line;
    return tuning;
}

Ranks meet_on_node(RankIdentity const& identity, std::filesystem::path const& directory,
                   std::string const& node_name, Environment const& environment, Timeouts const& timeouts) {
    if (identity.topology.local_size == 1) return collectives::make_single_rank();
    collectives::node::Options node{.node_name = node_name, .on_warning = timeouts.warn};
    node.collective_timeout = timeouts.timeout;
    return collectives::node::join_at({directory, meeting_name(environment),
                                       Rank{identity.topology.local_rank}, identity.topology.local_size},
                                      std::move(node));
}

/// Connects the ranks of a node in a run. They find each other in the run's directory on the node, so they
/// need no MPI and no particular launcher.
Ranks connect_node(RankIdentity const& identity, Info const& info, Environment const& environment,
                   Timeouts const& timeouts) {
    return meet_on_node(identity, info.run_dir, info.cluster.agent_id, environment, timeouts);
}

/// Connects ranks that a launcher has started on one node outside of a run. They find each other in
/// `directory`, and use shared memory as in a run.
Ranks connect_launched(RankIdentity const& identity, std::filesystem::path const& directory,
                       Environment const& environment, Timeouts const& timeouts) {
    DET_TRY(make_private_directory(directory));
    DET_TRY_ASSIGN(auto ranks, meet_on_node(identity, directory, {}, environment, timeouts));
    // All ranks have joined. rmdir fails, as intended, if the directory contains other files.
    if (identity.rank == 0) ::rmdir(directory.c_str());
    return ranks;
}

/// The group of all ranks, and the group of this node's ranks if the context needs it.
struct Connected {
    std::unique_ptr<collectives::RankGroup> ranks;
    std::shared_ptr<collectives::RankGroup> local = nullptr;
};

Result<Connected> connect_host(RankIdentity const& identity, std::optional<Info> const& info,
                               ContextOptions const& options, Timeouts const& timeouts) {
    auto const& topology = identity.topology;
    if (identity.size == 1) return Connected{collectives::make_single_rank()};
    if (info && topology.local_size == identity.size) {
        DET_TRY_ASSIGN(auto ranks, connect_node(identity, *info, options.environment, timeouts));
        return Connected{std::move(ranks)};
    }
    auto const directory = find_launch_directory(options.environment);
    if (!info && directory && topology.local_size == identity.size) {
        DET_TRY_ASSIGN(auto ranks, connect_launched(identity, *directory, options.environment, timeouts));
        return Connected{std::move(ranks)};
    }
    auto const tuning = tuning_for(identity, options.environment);
    DET_TRY_ASSIGN(auto transport, open_transport(identity, info, options.environment, timeouts));
    // Without a run's directory the ranks of a node have no place to find each other, so all use the
    // transport.
    if (!info) {
        DET_TRY_ASSIGN(auto ranks, collectives::make_ranks(std::move(transport), tuning));
        return Connected{std::move(ranks)};
    }
    DET_TRY_ASSIGN(auto node, connect_node(identity, *info, options.environment, timeouts));
    std::shared_ptr<collectives::RankGroup> const local(std::move(node));
    DET_TRY_ASSIGN(auto ranks, collectives::make_two_level(std::move(transport), local, topology, tuning));
    return Connected{std::move(ranks), local};
}

using Backend = std::shared_ptr<collectives::device::DeviceBackend>;

#ifdef DET_WITH_NCCL
Result<Backend> open_devices() { return collectives::nccl::open_nccl(); }
#else
Result<Backend> open_devices() {
    return Error{codes::transport, "this program was built without NCCL",
                 "install CUDA and NCCL and build again"};
}
#endif

Ranks add_devices(std::unique_ptr<collectives::RankGroup> host, Backend backend, Timeouts const& timeouts) {
    if (backend == nullptr) {
        DET_TRY_ASSIGN(backend, open_devices());
    }
    collectives::device::DeviceOptions device_options;
    device_options.waits.on_long_wait = timeouts.warn;
    if (timeouts.timeout) device_options.waits.timeout = *timeouts.timeout;
    return collectives::device::make_device_group(std::move(host), std::move(backend),
                                                  std::move(device_options));
}

}  // namespace

std::function<void(std::string const&)> warning_handler(ContextOptions const& options) {
    if (options.on_warning) return options.on_warning;
    return [](std::string const& text) { write_line("warning: " + text); };
}

Result<DistributedContext> connect(RankIdentity const& identity, std::optional<Info> const& info,
                                   ContextOptions const& options) {
    if (identity.size == 1 && options.devices == Devices::none) return DistributedContext::single();
    DET_TRY_ASSIGN(auto const timeouts, find_timeouts(options));
    DET_TRY_ASSIGN(auto connected, connect_host(identity, info, options, timeouts));
    if (options.devices == Devices::nccl) {
        DET_TRY_ASSIGN(connected.ranks,
                       add_devices(std::move(connected.ranks), options.device_backend, timeouts));
    }
    return DistributedContext::make(std::move(connected.ranks), identity.topology,
                                    std::move(connected.local));
}

}  // namespace det::core
