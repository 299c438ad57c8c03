#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>
#include <det/protocol/layout.hpp>
#include <det/protocol/task_identity.hpp>
#include <det/transport/mpi/mpi_transport.hpp>
#include <det/transport/tcp/tcp_transport.hpp>
#include <det/transport/tcp_bootstrap.hpp>
#include <det/transport/ucx/ucx_transport.hpp>

#include <algorithm>
#include <fmt/format.h>

#include "connect.hpp"

namespace det::core {
namespace {

using transport::Transport;
using Opened = Result<std::unique_ptr<Transport>>;

/// Returns the address at which other ranks reach the chief; empty if it is unknown. Only the chief uses it:
/// it tells the other ranks where it listens. If the program numbers the ranks, the chief may be on any node.
std::string chief_address(RankIdentity const& identity, Info const& info) {
    auto const& network = info.rendezvous.network;
    if (identity.topology.cross_size == 1) return "127.0.0.1";
    bool const is_elsewhere = identity.rank == 0 && info.rendezvous.container_rank != 0;
    return is_elsewhere ? network.address : network.chief_address;
}

bool has_rendezvous(RankIdentity const& identity, std::optional<Info> const& info) {
    return info && !info->run_path.empty() && path_exists(RunLayout(info->run_path).rendezvous()) &&
           !chief_address(identity, *info).empty();
}

/// Returns the address at which other ranks reach this node; empty if it is unknown.
std::string own_address(RankIdentity const& identity, Info const& info) {
    return identity.topology.cross_size == 1 ? "127.0.0.1" : info.rendezvous.network.address;
}

/// A rank's connections to the other ranks of its run before it has a transport.
struct RunConnections {
    std::unique_ptr<transport::Bootstrap> bootstrap;
    std::unique_ptr<transport::RankMonitor> monitor;
    transport::WaitPolicy waits;
};

Result<RunConnections> connect_run(RankIdentity const& identity, Info const& info,
                                   liveness::WaitPolicy const& waits) {
    auto const chief = chief_address(identity, info);
    RunConnections ranks;
    DET_TRY_ASSIGN(ranks.bootstrap, transport::open_tcp_bootstrap({identity.rank}, identity.size,
                                                                  RunLayout(info.run_path).rendezvous(),
                                                                  {.chief_address = chief}));
    DET_TRY_ASSIGN(ranks.monitor,
                   transport::open_rank_monitor(*ranks.bootstrap,
                                                {.chief_address = chief, .node = info.cluster.agent_id}));
    ranks.waits = waits;
    return ranks;
}

Opened open_tcp(RankIdentity const& identity, Info const& info, RunConnections ranks) {
    auto const address = own_address(identity, info);
    if (address.empty()) {
        return Error{codes::transport,
                     fmt::format("rank {} does not know an address of its node", identity.rank),
                     "set DET_INTER_NODE_NETWORK_INTERFACE in the experiment's environment"};
    }
    return transport::tcp::open_transport(std::move(ranks.bootstrap),
                                          {.address = address,
                                           .local_ranks = identity.topology.local_size,
                                           .monitor = std::move(ranks.monitor),
                                           .waits = std::move(ranks.waits)});
}

/// Returns the network interfaces that the experiment configures. The detected interface is not used: it is
/// the one to which host names resolve, which need not be the fast network.
std::string configured_interfaces(Info const& info) {
    auto const prefix = fmt::format("{}=", variables::inter_node_network_interface);
    if (!info.spec) return {};
    for (auto const& variable : info.spec->environment_variables) {
        if (variable.starts_with(prefix)) return variable.substr(prefix.size());
    }
    return {};
}

Opened open_ucx(RankIdentity const& identity, Info const& info, RunConnections ranks) {
    return transport::ucx::open_transport(std::move(ranks.bootstrap),
                                          {.interfaces = configured_interfaces(info),
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

/// A transport that the ranks of a run can use.
struct TransportOption {
    std::string_view name;
    Opened (*open)(RankIdentity const&, Info const&, RunConnections);
};
constexpr TransportOption transport_options[] = {{"tcp", open_tcp}, {"ucx", open_ucx}};

constexpr std::string_view no_preference = "";

/// Chooses the same transport on all ranks. Without DET_TRANSPORT it is UCX if each node has an RDMA adapter
/// and can load UCX. Without RDMA adapters UCX would use TCP, for which our own sockets are faster.
Result<TransportOption> agree_on_transport(transport::Bootstrap& bootstrap, std::string_view wanted) {
    bool const has_adapter = path_exists("/sys/class/infiniband") && transport::ucx::is_available();
    std::string const own(wanted != no_preference ? wanted : has_adapter ? "may-ucx" : "may-tcp");
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
    auto const chosen = !is_free ? own : std::ranges::count(choices, "may-tcp") > 0 ? "tcp" : "ucx";
    return *std::ranges::find(transport_options, chosen, &TransportOption::name);
}

}  // namespace

Opened open_transport(RankIdentity const& identity, std::optional<Info> const& info,
                      Environment const& environment, liveness::WaitPolicy const& waits) {
    auto const wanted = environment.find_non_empty("DET_TRANSPORT").value_or(std::string(no_preference));
    bool const needs_run =
        std::ranges::find(transport_options, wanted, &TransportOption::name) != std::end(transport_options);
    if (wanted != no_preference && wanted != "mpi" && !needs_run)
        return Error{codes::misuse, fmt::format("DET_TRANSPORT='{}' is none of tcp, ucx and mpi", wanted)};
    if (needs_run && !has_rendezvous(identity, info)) {
        return Error{codes::transport,
                     fmt::format("{} needs a run of an experiment, where the ranks can meet", wanted),
                     "unset DET_TRANSPORT, and start the ranks by mpirun or 'srun --mpi=pmix'"};
    }
    if (wanted == "mpi" || !has_rendezvous(identity, info)) return open_mpi(identity);
    DET_TRY_ASSIGN(auto ranks, connect_run(identity, *info, waits));
    DET_TRY_ASSIGN(auto const chosen, agree_on_transport(*ranks.bootstrap, wanted));
    return chosen.open(identity, *info, std::move(ranks));
}

}  // namespace det::core
