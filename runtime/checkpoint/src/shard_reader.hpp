#pragma once
#include <det/protocol/checkpoint_manifest.hpp>

#include <filesystem>
#include <mutex>
#include <span>

#include "block_file.hpp"

namespace det::checkpoint {

/// A shard whose blocks are read one by one, each against its checksum. Several threads may use it at once.
/// codes::checkpoint_damaged where the shard is not what the manifest says: which file and which bytes.
class ShardReader {
public:
    static Result<ShardReader> open(std::filesystem::path const& root, CheckpointFile const& expected,
                                    ReadFrom from);

    std::size_t block_count() const { return expected_->block_crc32c.size(); }
    std::uint64_t block_size_bytes() const { return expected_->block_size_bytes; }
    /// The bytes of that block, in `memory`, which has room for block_size_bytes() in whole pages.
    /// `turn` is held while the disk is asked: one read after the other is what most disks do best, and
    /// other threads look at what they have read meanwhile.
    Result<std::span<std::byte const>> read_block(std::size_t block, std::byte* memory,
                                                  std::mutex& turn) const;

private:
    ShardReader(BlockFile file, CheckpointFile const& expected)
        : file_(std::move(file)), expected_(&expected) {}

    BlockFile file_;
    CheckpointFile const* expected_;
};

/// All blocks, by several threads.
Status check_shard(std::filesystem::path const& root, CheckpointFile const& expected, ReadFrom from);

/// Threads that keep a disk busy while others of them look at what was read.
inline constexpr int reader_thread_count = 3;

}  // namespace det::checkpoint
