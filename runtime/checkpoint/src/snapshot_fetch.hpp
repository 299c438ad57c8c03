#pragma once
#include <det/checkpoint/peers.hpp>
#include <det/checkpoint/rank_messages.hpp>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "snapshot_files.hpp"

namespace det::checkpoint {

/// The file of one rank's snapshot: the ranks on whose nodes it is, and its size.
struct FileHolders {
    std::vector<int> ranks;
    std::uint64_t size_bytes = 0;
};
/// A snapshot's files by rank, as far as any node has them.
using SnapshotHolders = std::map<int, FileHolders>;

/// Finds out which nodes have which files of snapshots, and brings files to nodes that lack them. The calls
/// are collective; Errors are the same on all ranks.
class SnapshotFetch {
public:
    /// \param node of this rank
    SnapshotFetch(Peers& peers, MemoryPlace place, int node)
        : peers_(peers), place_(std::move(place)), node_(node) {}

    /// \param files of this node
    Result<std::map<SnapshotId, SnapshotHolders>> find(MemoryFiles const& files);

    /// Brings to this rank's node the files of these ranks, and adds them to `files`. Files that were fetched
    /// are sent on, so that the number of nodes that send grows. Call find() before.
    /// \param wanted by this rank; no other rank of the node may want one of them
    /// \param check_room whether this node has so many bytes left
    /// \return the outer Result is an Error if the exchange fails; the inner one if this rank did not get a
    ///     file
    Result<Status> fetch(RankMessages& messages, SnapshotId const& id, SnapshotHolders const& holders,
                         std::vector<int> const& wanted, MemoryFiles& files,
                         std::function<Status(std::uint64_t)> const& check_room);

private:
    struct Transfer;
    Result<Status> exchange(RankMessages& messages, SnapshotId const& id, SnapshotHolders const& holders,
                            std::vector<int> const& wanted, std::vector<Transfer> const& transfers,
                            MemoryFiles& files, std::map<int, MappedFile>& into) const;
    Status prepare(SnapshotId const& id, SnapshotHolders const& holders, std::vector<int> const& wanted,
                   std::map<int, MappedFile>& into) const;
    Status send(RankMessages& messages, MemoryFiles const& files, Transfer const& transfer) const;
    Result<Status> receive(RankMessages& messages, MemoryFiles& files, Transfer const& transfer,
                           MappedFile const& into) const;
    std::filesystem::path fetched_path(std::filesystem::path const& directory, int rank, int ranks) const;

    Peers& peers_;
    MemoryPlace place_;
    int node_;
    std::vector<int> nodes_;  // by rank
};

/// Whether the node has this file, with the right checksum.
bool has_whole_file(MemoryFiles const& files, MemoryFileName const& name);

}  // namespace det::checkpoint
