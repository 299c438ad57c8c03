#pragma once
#include <det/checkpoint/memory_directory.hpp>

#include <array>
#include <filesystem>
#include <map>
#include <optional>

#include "memory_file.hpp"

namespace det::checkpoint {

/// The complete snapshots in the directories of the trial on this node, and the directory of each.
using MemoryFiles = std::map<MemoryFileName, std::filesystem::path>;
MemoryFiles list_memory_files(MemoryPlace const& place);

Status rename_file(std::filesystem::path const& from, std::filesystem::path const& to);

/// The two files on this node that have the snapshots of one rank: of a rank of this node, or the copies of
/// another node's rank. The memory of a file is used again, because the first touch of new memory costs more
/// than the copy.
class SnapshotFiles {
public:
    struct Slot {
        MappedFile file;
        std::filesystem::path path = {};  // its present name
        std::uint64_t size_bytes = 0;
        std::optional<SnapshotId> id = {};  // of the snapshot that it has, or that is written into it
    };

    SnapshotFiles(MemoryPlace place, int rank, int ranks)
        : place_(std::move(place)), rank_(rank), ranks_(ranks) {}

    /// Takes over the files that an earlier run has left: the one with the snapshot `first`, then the newest.
    /// Later calls do nothing.
    void open(std::optional<SnapshotId> const& first);
    /// The sizes of the two files.
    std::array<std::uint64_t, 2> held_bytes() const { return {slots_[0].size_bytes, slots_[1].size_bytes}; }
    /// The file to overwrite: the one without the snapshot `confirmed`; else an empty one, or the older one.
    Slot& choose(std::optional<SnapshotId> const& confirmed);
    Slot& other_than(Slot const& slot) { return &slot == slots_.data() ? slots_[1] : slots_[0]; }
    Slot& holder_of(std::optional<SnapshotId> const& id) {
        return slots_[0].id == id ? slots_[0] : slots_[1];
    }
    /// Gives a file a name that no snapshot has, and memory.
    Status prepare(Slot& slot, std::uint64_t size_bytes);
    /// Removes both files.
    void remove();

private:
    MemoryPlace place_;
    int rank_;
    int ranks_;
    std::array<Slot, 2> slots_;
    bool is_open_ = false;
};

/// What two files of these sizes lack, to have this size.
std::uint64_t lacking_bytes(std::array<std::uint64_t, 2> const& held, std::uint64_t size_bytes);

}  // namespace det::checkpoint
