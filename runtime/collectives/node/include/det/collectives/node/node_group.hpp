#pragma once
#include <det/collectives/rank_group.hpp>
#include <det/foundation/files.hpp>
#include <det/liveness/wait_policy.hpp>

#include <filesystem>
#include <string>

namespace det::collectives::node {

/// Whether ranks are processes or threads. A lost process is detected when it ends or is stopped; a thread
/// only when it leaves the group.
enum class Members { processes, threads };

/// Sizes of the shared memory. The rank that creates it chooses them; the other ranks read them there. All
/// sizes in bytes are multiples of 64.
struct Geometry {
    /// Up to this size inputs are copied whole into shared buffers, and each rank takes from them what it
    /// needs (in an allreduce everything). Larger data goes in pieces. Data of at least 4 KiB is read in
    /// place instead if the buffers of all ranks are from allocate().
    std::size_t small_limit_bytes = 8 * 1024;
    /// The limit in place of small_limit_bytes for an allreduce or allgather of two ranks, where dividing the
    /// work saves nothing.
    std::size_t pair_limit_bytes = 256 * 1024;
    /// Size of the pieces of larger data; at least 64.
    std::size_t chunk_bytes = 128 * 1024;
    /// Number of pieces from a rank to a receiver that may be in flight; at least 2.
    std::size_t chunks_in_flight = 4;
};
/// The sizes with which all chunks of `ranks` ranks together take at most 8 MiB, so that they fit the cache.
/// More than 11 ranks need more, because a chunk has at least 16 KiB.
Geometry geometry_for(int ranks);

struct Options {
    Members members = Members::processes;
    std::string node_name = {};  // for messages; empty: the host name
    /// A process without a heartbeat for this long counts as lost (it is stopped or gets no CPU time).
    std::chrono::milliseconds silence_limit = std::chrono::seconds(10);
    /// Applies to each single wait for other ranks, of which an operation may have several; by default
    /// without a limit. After a timeout the group is unusable.
    liveness::WaitPolicy waits = {};
    /// Time limit for all ranks to join. join_at() applies it twice: until the ranks are connected, and until
    /// all of them have mapped the memory.
    std::chrono::milliseconds join_timeout = std::chrono::seconds(120);
};

/// The shared memory of the ranks of a node. The kernel frees it when no process has it open or mapped.
struct SharedMemory {
    UniqueFd control;
    UniqueFd arena;  // for allocations that all ranks can see; empty: each rank allocates private memory
};
Result<SharedMemory> create_shared_memory(int ranks, Geometry const& geometry);

/// Maps the shared memory and joins the group of the ranks of one node, which communicate through it. Blocks
/// until all ranks have joined. The caller may close `memory` afterwards.
///
/// A lost rank is an Error on all other ranks, in the operation in which they wait: within milliseconds if
/// its process ended, after the silence limit if it was stopped or has another PID namespace. The Error names
/// the rank, its node and the operation. All later operations return the same Error; the remaining ranks can
/// make a new group.
/// \return codes::misuse if the rank is out of range or another process has it; codes::damaged if `memory` is
///     not the shared memory of a group of this version; codes::timed_out if not all ranks join in time; an
///     error of the system
Result<std::unique_ptr<collectives::RankGroup>> map_and_join(SharedMemory const& memory, Rank rank,
                                                             Options options = {});

/// Where unrelated processes of one user find each other: a directory and a unique name in it. Rank 0 creates
/// the shared memory and passes it to the other ranks through a socket with this name. It removes the socket
/// when all ranks have connected, or at an Error.
struct Rendezvous {
    std::filesystem::path directory;
    std::string name;
    Rank rank;
    int size = 1;
};
/// Joins the group of the ranks that meet at the Rendezvous. Blocks until all ranks have joined.
/// \return errors as for map_and_join(); codes::misuse also if a rank has another version or another number
///     of ranks; codes::timed_out also if rank 0 or another rank does not connect in time
Result<std::unique_ptr<collectives::RankGroup>> join_at(Rendezvous const& rendezvous, Options options = {});

}  // namespace det::collectives::node
