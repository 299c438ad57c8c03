#pragma once
#include <det/core/context.hpp>
#include <det/liveness/wait_policy.hpp>
#include <det/transport/bootstrap.hpp>

#include <filesystem>
#include <optional>

namespace det::core {

/// What a rank knows to find the ranks on other nodes.
struct RankNetwork {
    std::filesystem::path rendezvous;  // the file with the secret and the chief's address
    /// Whether the file is there, with its secret, before the ranks start. Otherwise the chief makes it.
    bool is_prepared = true;
    std::string chief_address;  // at which the chief listens; used by the chief only
    std::string own_address;    // at which other ranks reach this node; empty if it is unknown
    std::string node;           // name of this node, for messages
    std::string interfaces;     // network interfaces that the user has chosen; may be empty
    std::chrono::milliseconds timeout =
        transport::BootstrapOptions{}.timeout;  // for the ranks to find each other
};

/// Finds the network of a run that has a rendezvous file. Without one, makes the network of ranks whose
/// program knows the chief's address, and resolves that address.
///
/// \param wanted the value of DET_TRANSPORT; empty if it is not set
/// \return nullopt if the ranks have to use MPI; codes::transport if the chief's host can't be found;
///     codes::misuse if no directory for the rendezvous file is known
Result<std::optional<RankNetwork>> find_rank_network(RankNumbers const& numbers,
                                                     std::optional<Info> const& info,
                                                     Environment const& environment, std::string_view wanted,
                                                     liveness::WaitPolicy const& waits);

/// Opens the bootstrap of these ranks. Collective; blocks until all ranks have called it.
Result<std::unique_ptr<transport::Bootstrap>> open_bootstrap(RankIdentity const& identity,
                                                             RankNetwork const& network);

}  // namespace det::core
