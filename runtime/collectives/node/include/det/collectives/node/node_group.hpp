#pragma once
#include <det/collectives/rank_group.hpp>
#include <det/foundation/files.hpp>

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

namespace det::collectives::node {

/// Who is behind a rank. Of threads only those who leave are noticed; a process may end or be stopped at any
/// time.
enum class Members { processes, threads };

/// Sizes of the shared memory. Chosen by whoever makes it; the others find them there.
struct Geometry {
    /// Up to here all ranks read all of what each of them has put in; above, each rank sees to a part.
    std::size_t small_limit_bytes = 8 * 1024;
    /// The same for an allreduce or allgather of two ranks: parts would save them nothing.
    std::size_t pair_limit_bytes = 256 * 1024;
    /// Pieces in which larger data goes through the shared memory; multiples of 64.
    std::size_t chunk_bytes = 128 * 1024;
    /// Pieces of one rank that may be on their way to another; at least 2.
    std::size_t chunks_in_flight = 4;
};
/// For as many ranks that their chunks stay in the cache together.
Geometry geometry_for(int ranks);

struct Options {
    Members members = Members::processes;
    std::string node_name = {};  // for messages; empty: what the kernel calls it
    /// A process whose heart has not beaten for so long is lost: it is stopped, or starves.
    std::chrono::milliseconds silence_limit = std::chrono::seconds(10);
    /// Whoever waits for so long says so once, and for whom. Waiting is no error by itself.
    std::chrono::milliseconds warn_after = std::chrono::seconds(60);
    std::function<void(std::string const& warning)> on_warning = {};
    /// Unless this is given, and then it ends the group.
    std::optional<std::chrono::milliseconds> collective_timeout = {};
    /// Until all ranks have come.
    std::chrono::milliseconds join_timeout = std::chrono::seconds(120);
};

/// The memory that the ranks of a node share: it ends with the last that has it.
struct SharedMemory {
    UniqueFd control;
    UniqueFd arena;  // where ranks allocate what all can see; none: nowhere
};
Result<SharedMemory> create_shared_memory(int ranks, Geometry const& geometry);

/// The ranks of one node, through shared memory. A rank that is lost is an Error on every other: within
/// milliseconds where its process ended, after the silence limit where it was stopped. It names the rank, its
/// node and the operation; from then on every operation has the same Error, and a new group can be made by
/// those who are left.
///
/// All ranks return once all have joined.
Result<std::unique_ptr<collectives::RankGroup>> join(SharedMemory const& memory, Rank rank,
                                                     Options options = {});

/// The same for processes that have nothing in common but a directory of their own user, and a name that is
/// theirs alone there: rank 0 makes the memory and passes it on through a socket of that name, which is gone
/// when all have come.
struct Rendezvous {
    std::filesystem::path directory;
    std::string name;
    Rank rank;
    int size = 1;
};
Result<std::unique_ptr<collectives::RankGroup>> join_at(Rendezvous const& rendezvous, Options options = {});

}  // namespace det::collectives::node
