#include "open_transport.hpp"

#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>
#include <det/protocol/layout.hpp>
#include <det/protocol/task_identity.hpp>
#include <det/transport/tcp_bootstrap.hpp>
#ifdef DET_WITH_MPI
#include <det/transport/mpi.hpp>
#endif
#ifdef DET_WITH_UCX
#include <det/transport/ucx.hpp>
#endif

#include <fmt/format.h>

namespace det::core {
namespace {

using transport::Transport;
using Opened = Result<std::unique_ptr<Transport>>;

/// At which of its addresses the others reach the chief. Nothing: it could not be found out.
std::string chief_address(Place const& place, Info const& info) {
    return place.topology.cross_size == 1 ? "127.0.0.1" : info.rendezvous.network.chief_address;
}

bool can_meet(Place const& place, std::optional<Info> const& info) {
    return info && !info->run_path.empty() && path_exists(RunLayout(info->run_path).meeting()) &&
           !chief_address(place, *info).empty();
}

#ifdef DET_WITH_UCX
/// Those that the experiment names. What the node found out by itself is where host names lead to, which need
/// not be the fast network.
std::string configured_interfaces(Info const& info) {
    auto const prefix = fmt::format("{}=", variables::inter_node_network_interface);
    if (!info.spec) return {};
    for (auto const& variable : info.spec->environment_variables) {
        if (variable.starts_with(prefix)) return variable.substr(prefix.size());
    }
    return {};
}

Opened open_ucx(Place const& place, std::optional<Info> const& info, Patience const& patience) {
    if (!can_meet(place, info)) {
        return Error{codes::transport, "UCX needs a run of an experiment, where the ranks can meet",
                     "unset DET_TRANSPORT, and start the ranks by mpirun or 'srun --mpi=pmix'"};
    }
    DET_TRY_ASSIGN(auto bootstrap, transport::open_tcp_bootstrap(
                                       {place.rank}, place.size, RunLayout(info->run_path).meeting(),
                                       {.chief_address = chief_address(place, *info)}));
    DET_TRY_ASSIGN(auto watch,
                   transport::open_watch(*bootstrap, {.chief_address = chief_address(place, *info),
                                                      .node = info->cluster.agent_id}));
    transport::WaitRules waits{.on_long_wait = patience.warn};
    if (patience.timeout) waits.timeout = *patience.timeout;
    return transport::open_ucx_transport(std::move(bootstrap), {.interfaces = configured_interfaces(*info),
                                                                .local_ranks = place.topology.local_size,
                                                                .watch = std::move(watch),
                                                                .waits = std::move(waits)});
}
#else
Opened open_ucx(Place const&, std::optional<Info> const&, Patience const&) {
    return Error{codes::transport, "this program was built without UCX",
                 "install libucx-dev and build again"};
}
#endif

#ifdef DET_WITH_MPI
Opened open_mpi(Place const& place, std::optional<Info> const&, Patience const&) {
    DET_TRY_ASSIGN(auto transport, transport::open_mpi_transport());
    if (transport->size() == place.size && transport->rank().value == place.rank)
        return Opened(std::move(transport));
    return Error{codes::transport,
                 fmt::format("the environment says rank {} of {}, MPI says rank {} of {}", place.rank,
                             place.size, transport->rank().value, transport->size()),
                 "set 'slurm: {mpi: pmix}' in the experiment's configuration, or start the ranks by mpirun"};
}
#else
Opened open_mpi(Place const&, std::optional<Info> const&, Patience const&) {
    return Error{codes::transport, "this program was built without MPI", "install an MPI and build again"};
}
#endif

struct Way {
    std::string_view name;
    Opened (*open)(Place const&, std::optional<Info> const&, Patience const&);
};
constexpr Way ways[] = {{"ucx", open_ucx}, {"mpi", open_mpi}};

std::string_view choose(Place const& place, std::optional<Info> const& info) {
#ifdef DET_WITH_UCX
    return can_meet(place, info) ? "ucx" : "mpi";
#else
    (void)place, (void)info;
    return "mpi";
#endif
}

}  // namespace

Opened open_transport(Place const& place, std::optional<Info> const& info, Environment const& environment,
                      Patience const& patience) {
    auto const wanted = environment.find_non_empty("DET_TRANSPORT");
    auto const chosen = wanted ? std::string_view(*wanted) : choose(place, info);
    for (auto const& way : ways) {
        if (way.name == chosen) return way.open(place, info, patience);
    }
    return Error{codes::misuse, fmt::format("DET_TRANSPORT='{}' is none of ucx and mpi", chosen)};
}

}  // namespace det::core
