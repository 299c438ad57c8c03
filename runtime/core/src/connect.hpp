#pragma once
#include <det/core/context.hpp>
#include <det/core/rank_identity.hpp>
#include <det/liveness/wait_policy.hpp>
#include <det/transport/transport.hpp>

#include <functional>

namespace det::core {

/// Returns the handler of the options; if the options have none, a handler that writes to stderr.
std::function<void(std::string const& warning)> warning_handler(ContextOptions const& options);

/// Opens the transport between several ranks. If the run has a rendezvous file (every run of an experiment
/// has one), or if the numbers have the address of the chief, the transport is UCX if all nodes have RDMA
/// adapters and can load UCX, else TCP sockets. Otherwise, and outside of a run for ranks that an MPI
/// launcher has started, it is MPI. DET_TRANSPORT=tcp, ucx or mpi overrides the choice and must be the same
/// on all ranks; ranks with different choices of tcp and ucx get an Error. With ucx it is TCP sockets all the
/// same if a node has no RDMA adapter by which UCX reaches the others; rank 0 warns of that.
Result<std::unique_ptr<transport::Transport>> open_transport(RankNumbers const& numbers,
                                                             std::optional<Info> const& info,
                                                             Environment const& environment,
                                                             liveness::WaitPolicy const& waits);

/// The file by which this process tells its wrapper that it has lost another rank; an empty path if there is
/// no wrapper.
std::filesystem::path find_lost_peer_file(std::optional<Info> const& info, Environment const& environment);

/// Makes this process write a message into the file when it first loses another rank. Errors of writing are
/// ignored: the wrapper then records a failure of this rank. Does nothing for an empty path.
void start_recording_lost_peers(std::filesystem::path const& file);

/// Ends what start_recording_lost_peers() began, and removes the file. Called at the end, when other ranks
/// may leave at any time.
void stop_recording_lost_peers(std::filesystem::path const& file);

/// Connects this rank to all other ranks of the program: through shared memory within a node, and by the
/// transport of open_transport() between nodes. Collective; blocks until all ranks have called it.
Result<collectives::DistributedContext> connect(RankNumbers const& numbers, std::optional<Info> const& info,
                                                ContextOptions const& options);

/// Opens the devices of this rank. The result puts them around a group of ranks.
using WithDevices =
    std::function<std::unique_ptr<collectives::RankGroup>(std::shared_ptr<collectives::RankGroup>)>;
Result<WithDevices> open_devices(Devices kind, ContextOptions const& options);

}  // namespace det::core
