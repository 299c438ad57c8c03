#include "rank_network.hpp"

#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>
#include <det/protocol/directory_layout.hpp>
#include <det/protocol/task_identity.hpp>
#include <det/transport/tcp_bootstrap.hpp>

#include <algorithm>
#include <fmt/format.h>

#include "launch_directory.hpp"
#include "node_address.hpp"

namespace det::core {
namespace {

/// Returns the address at which other ranks reach the chief; empty if it is unknown. Only the chief uses the
/// address, to tell other ranks where it listens. If the program numbers the ranks, the chief may be on any
/// node.
std::string chief_address(RankIdentity const& identity, Info const& info) {
    auto const& network = info.rendezvous.network;
    if (identity.topology.cross_size == 1) return "127.0.0.1";
    bool const is_elsewhere = identity.rank == 0 && info.rendezvous.container_rank != 0;
    return is_elsewhere ? network.address : network.chief_address;
}

/// Returns the network interfaces that the experiment configures. The interface to which the host name
/// resolves is not used, because it need not be on the fast network.
std::string configured_interfaces(Info const& info) {
    auto const prefix = fmt::format("{}=", variables::inter_node_network_interface);
    if (!info.spec) return {};
    for (auto const& variable : info.spec->environment_variables) {
        if (variable.starts_with(prefix)) return variable.substr(prefix.size());
    }
    return {};
}

std::optional<RankNetwork> find_network_of_run(RankIdentity const& identity, Info const& info) {
    if (info.run_path.empty()) return std::nullopt;
    RankNetwork network;
    network.rendezvous = RunLayout(info.run_path).rendezvous();
    network.chief_address = chief_address(identity, info);
    if (network.chief_address.empty() || !path_exists(network.rendezvous)) return std::nullopt;
    network.own_address = identity.topology.cross_size == 1 ? "127.0.0.1" : info.rendezvous.network.address;
    network.node = info.cluster.agent_id;
    network.interfaces = configured_interfaces(info);
    return network;
}

/// The variables in which a launcher of MPI programs gives the number of its processes.
struct MpiLauncher {
    std::string_view marker, size;
};
constexpr MpiLauncher mpi_launchers[] = {
    {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_SIZE"},  // mpirun of Open MPI
    {"MPI_LOCALNRANKS", "PMI_SIZE"},                   // mpirun of MPICH and Intel MPI
    {"PMIX_RANK", "SLURM_STEP_NUM_TASKS"},             // srun --mpi=pmix
};

/// Whether an MPI launcher has started these ranks. Ranks that torchrun starts inherit the variables of the
/// task that runs torchrun, with another number of processes.
bool has_mpi_launcher(Environment const& environment, int size) {
    return std::ranges::any_of(mpi_launchers, [&](MpiLauncher const& launcher) {
        return environment.find(launcher.marker) &&
               parse_integer<int>(environment.find(launcher.size).value_or("")) == size;
    });
}

Result<RankNetwork> make_network(RankNumbers const& numbers, Environment const& environment,
                                 liveness::WaitPolicy const& waits) {
    RankNetwork network;
    DET_TRY_ASSIGN(auto const directory, find_rendezvous_directory(environment));
    network.rendezvous = directory / rendezvous_name(numbers.group, numbers.chief_address);
    network.is_prepared = false;
    network.interfaces = environment.find(variables::inter_node_network_interface).value_or("");
    DET_TRY_ASSIGN(network.own_address, find_node_address(numbers.chief_address, network.interfaces));
    network.chief_address = network.own_address;
    network.node = find_host_name();
    network.timeout = waits.timeout.value_or(network.timeout);
    return network;
}

/// Adds a hint to errors of ranks that do not find each other.
Error explain(Error error, RankNetwork const& network) {
    if (error.code == codes::timed_out) {
        error.hint = fmt::format("the nodes must share '{}': set {} to a directory that they share",
                                 network.rendezvous.parent_path().string(), rendezvous_variable);
    } else if (error.code == codes::name_taken) {
        error.hint =
            "give each rank a number of its own, and each program that runs at the same time a group "
            "of its own (pub_port of DistributedContext, MASTER_PORT of torchrun)";
    }
    return error;
}

}  // namespace

Result<std::optional<RankNetwork>> find_rank_network(RankNumbers const& numbers,
                                                     std::optional<Info> const& info,
                                                     Environment const& environment, std::string_view wanted,
                                                     liveness::WaitPolicy const& waits) {
    auto const& identity = numbers.identity;
    if (wanted == "mpi") return std::optional<RankNetwork>();
    if (info) {
        if (auto of_run = find_network_of_run(identity, *info)) return of_run;
    }
    bool const may_use_mpi = wanted.empty() && has_mpi_launcher(environment, identity.size);
    if (numbers.chief_address.empty() || identity.topology.cross_size == 1 || may_use_mpi)
        return std::optional<RankNetwork>();
    DET_TRY_ASSIGN(auto made, make_network(numbers, environment, waits));
    return std::optional(std::move(made));
}

Result<std::unique_ptr<transport::Bootstrap>> open_bootstrap(RankIdentity const& identity,
                                                             RankNetwork const& network) {
    transport::TcpBootstrapOptions options{.chief_address = network.chief_address,
                                           .waits = {network.timeout}};
    if (network.is_prepared)
        return transport::open_tcp_bootstrap({identity.rank}, identity.size, network.rendezvous, options);
    auto const directory = network.rendezvous.parent_path();
    DET_TRY(make_directories(directory.parent_path()));
    if (auto made = make_private_directory(directory); !made) {
        auto error = std::move(made).error();
        error.hint = fmt::format("remove it, or set {} to another directory", rendezvous_variable);
        return error;
    }
    auto opened = transport::open_tcp_bootstrap_with_new_secret({identity.rank}, identity.size,
                                                                network.rendezvous, options);
    if (!opened) return explain(std::move(opened).error(), network);
    return opened;
}

}  // namespace det::core
