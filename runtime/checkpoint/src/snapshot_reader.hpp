#pragma once
#include <det/checkpoint/memory_directory.hpp>
#include <det/checkpoint/peers.hpp>
#include <det/checkpoint/state.hpp>
#include <det/checkpoint/stored_manifest.hpp>
#include <det/tensor/device_copies.hpp>

#include <string>
#include <vector>

#include "snapshot_files.hpp"

namespace det::checkpoint {

/// Reads a snapshot from the files in the memory of this node. No call is collective.
class SnapshotReader {
public:
    /// \param peers only for the numbers of the rank and of the ranks
    SnapshotReader(Peers const& peers, MemoryPlace place) : peers_(peers), place_(std::move(place)) {}

    /// Fills the tensors of this rank: from its own file if that has them, else from those of all ranks.
    /// \param names the files of this node
    /// \return what the snapshot has; the metadata on the chief only
    Result<CheckpointManifest> load(MemoryFiles const& names, SnapshotId const& id, State const& state,
                                    tensor::DeviceCopies* devices) const;
    /// What the snapshot has, with the metadata of rank 0.
    Result<CheckpointManifest> load_manifest(SnapshotId const& id) const;

private:
    Result<std::vector<MemoryFile>> open_files(MemoryFiles const& files, SnapshotId const& id,
                                               int count) const;

    Peers const& peers_;
    MemoryPlace place_;
};

}  // namespace det::checkpoint
