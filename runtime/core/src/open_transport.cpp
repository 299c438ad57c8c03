#include <det/foundation/files.hpp>
#include <det/transport/mpi/mpi_transport.hpp>
#include <det/transport/rank_monitor.hpp>
#include <det/transport/tcp/tcp_transport.hpp>
#include <det/transport/ucx/ucx_transport.hpp>

#include <algorithm>
#include <fmt/format.h>

#include "connect.hpp"
#include "rank_network.hpp"

namespace det::core {
namespace {

using transport::Transport;
using Opened = Result<std::unique_ptr<Transport>>;

/// A rank's connections to the other ranks before it has a transport.
struct RankConnections {
    std::unique_ptr<transport::Bootstrap> bootstrap;
    std::unique_ptr<transport::RankMonitor> monitor;
    transport::WaitPolicy waits;
    std::string ucx_transports = {};  // the user's UCX_TLS
};

Result<RankConnections> connect_ranks(RankIdentity const& identity, RankNetwork const& network,
                                      liveness::WaitPolicy const& waits) {
    RankConnections ranks;
    DET_TRY_ASSIGN(ranks.bootstrap, open_bootstrap(identity, network));
    DET_TRY_ASSIGN(ranks.monitor,
                   transport::open_rank_monitor(*ranks.bootstrap, {.chief_address = network.chief_address,
                                                                   .node = network.node,
                                                                   .address = network.own_address}));
    ranks.waits = waits;
    return ranks;
}

Opened open_tcp(RankIdentity const& identity, RankNetwork const& network, RankConnections ranks) {
    if (network.own_address.empty()) {
        return Error{codes::transport,
                     fmt::format("rank {} does not know an address of its node", identity.rank),
                     "set DET_INTER_NODE_NETWORK_INTERFACE in the experiment's environment"};
    }
    return transport::tcp::open_transport(std::move(ranks.bootstrap),
                                          {.address = network.own_address,
                                           .local_ranks = identity.topology.local_size,
                                           .monitor = std::move(ranks.monitor),
                                           .waits = std::move(ranks.waits)});
}

Opened open_ucx(RankIdentity const& identity, RankNetwork const& network, RankConnections ranks) {
    return transport::ucx::open_transport(std::move(ranks.bootstrap),
                                          {.interfaces = network.interfaces,
                                           .transports = ranks.ucx_transports,
                                           .local_ranks = identity.topology.local_size,
                                           .monitor = std::move(ranks.monitor),
                                           .waits = std::move(ranks.waits)});
}

Opened open_mpi(RankIdentity const& identity) {
    DET_TRY_ASSIGN(auto transport, transport::mpi::open_transport());
    if (transport->size() == identity.size && transport->rank().value == identity.rank)
        return Opened(std::move(transport));
    return Error{codes::transport,
                 fmt::format("the environment says rank {} of {}, MPI says rank {} of {}", identity.rank,
                             identity.size, transport->rank().value, transport->size()),
                 "set 'slurm: {mpi: pmix}' in the experiment's configuration, or start the ranks by mpirun"};
}

/// A transport for ranks that have a RankNetwork.
struct TransportOption {
    std::string_view name;
    Opened (*open)(RankIdentity const&, RankNetwork const&, RankConnections);
};
constexpr TransportOption transport_options[] = {{"tcp", open_tcp}, {"ucx", open_ucx}};

constexpr std::string_view no_preference = "";

void warn_about_ucx(std::string_view wanted, std::string_view chosen, std::string const& transports,
                    liveness::WaitPolicy const& waits) {
    if (!waits.on_long_wait) return;
    if (wanted == "ucx" && chosen == "tcp") {
        waits.on_long_wait(
            "DET_TRANSPORT=ucx: not every node has an RDMA adapter that UCX may use, so the ranks use "
            "sockets "
            "of their own. UCX's TCP is never used: its port asks for no secret");
    } else if (chosen == "ucx" && transport::ucx::is_tcp_left_out(transports)) {
        waits.on_long_wait(
            "UCX_TLS names tcp, which is left out for the ranks' messages: its port asks for no secret");
    }
}

/// Whether UCX can reach all nodes from this one.
enum class UcxReach { all_nodes, this_node };

/// Chooses the same transport on all ranks. Without DET_TRANSPORT it is UCX if each node has an RDMA adapter
/// and can load UCX. Between nodes without RDMA adapters it is det's own sockets, also if DET_TRANSPORT says
/// ucx: UCX's TCP listens at a port that asks for no secret.
Result<TransportOption> agree_on_transport(RankConnections const& ranks, std::string_view wanted,
                                           UcxReach reach) {
    auto& bootstrap = *ranks.bootstrap;
    bool const reaches_all = reach == UcxReach::all_nodes;
    std::string const own(wanted != no_preference ? wanted : reaches_all ? "may-ucx" : "may-tcp");
    DET_TRY_ASSIGN(auto const choices, bootstrap.allgather(own));
    bool const is_free = own.starts_with("may-");
    for (std::size_t rank = 0; rank < choices.size(); ++rank) {
        bool const agrees = is_free ? choices[rank].starts_with("may-") : choices[rank] == own;
        if (agrees) continue;
        auto const name = [](std::string const& choice) {
            return choice.starts_with("may-") ? std::string("nothing") : choice;
        };
        return Error{codes::misuse,
                     fmt::format("DET_TRANSPORT says {} on rank {} and {} on rank {}", name(own),
                                 bootstrap.rank().value, name(choices[rank]), rank),
                     "set it in the experiment's environment, where it is the same for all ranks"};
    }
    auto chosen = !is_free ? own : std::ranges::count(choices, "may-tcp") > 0 ? "tcp" : "ucx";
    if (wanted == "ucx") {
        DET_TRY_ASSIGN(auto const reaches, bootstrap.allgather(reaches_all ? "all" : "node"));
        if (std::ranges::count(reaches, "node") > 0) chosen = "tcp";
    }
    if (bootstrap.rank().value == 0) warn_about_ucx(wanted, chosen, ranks.ucx_transports, ranks.waits);
    return *std::ranges::find(transport_options, chosen, &TransportOption::name);
}

}  // namespace

Opened open_transport(RankNumbers const& numbers, std::optional<Info> const& info,
                      Environment const& environment, liveness::WaitPolicy const& waits) {
    auto const& identity = numbers.identity;
    auto const wanted = environment.find_non_empty("DET_TRANSPORT").value_or(std::string(no_preference));
    bool const needs_network =
        std::ranges::find(transport_options, wanted, &TransportOption::name) != std::end(transport_options);
    if (wanted != no_preference && wanted != "mpi" && !needs_network)
        return Error{codes::misuse, fmt::format("DET_TRANSPORT='{}' is none of tcp, ucx and mpi", wanted)};
    DET_TRY_ASSIGN(auto const network, find_rank_network(numbers, info, environment, wanted, waits));
    if (needs_network && !network) {
        return Error{codes::transport,
                     fmt::format("{} needs a run of an experiment, where the ranks can meet", wanted),
                     "unset DET_TRANSPORT, and start the ranks by mpirun or 'srun --mpi=pmix'; or give the "
                     "address of the chief"};
    }
    if (!network) {
        auto opened = open_mpi(identity);
        bool const has_choice = wanted == no_preference && !numbers.chief_address.empty();
        if (opened || !has_choice) return opened;
        return std::move(opened).error().noting("DET_TRANSPORT=tcp connects these ranks without MPI");
    }
    DET_TRY_ASSIGN(auto ranks, connect_ranks(identity, *network, waits));
    ranks.ucx_transports = environment.find("UCX_TLS").value_or("");
    bool const needs_rdma = identity.topology.cross_size > 1 || wanted != "ucx";
    auto const reach =
        !needs_rdma || transport::ucx::can_connect_nodes(network->interfaces, ranks.ucx_transports)
            ? UcxReach::all_nodes
            : UcxReach::this_node;
    DET_TRY_ASSIGN(auto const chosen, agree_on_transport(ranks, wanted, reach));
    return chosen.open(identity, *network, std::move(ranks));
}

}  // namespace det::core
