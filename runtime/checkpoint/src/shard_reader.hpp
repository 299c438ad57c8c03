#pragma once
#include <det/protocol/checkpoint_manifest.hpp>

#include <filesystem>
#include <mutex>
#include <span>

#include "block_file.hpp"

namespace det::checkpoint {

/// Reads the blocks of a shard and verifies their checksums. Several threads may use it at once.
/// Errors: codes::checkpoint_damaged names the file and the bytes that differ from the manifest.
class ShardReader {
public:
    static Result<ShardReader> open(std::filesystem::path const& root, CheckpointFile const& expected,
                                    ReadFrom from);

    std::size_t block_count() const { return expected_->block_crc32c.size(); }
    std::uint64_t block_size_bytes() const { return expected_->block_size_bytes; }
    /// Reads a block into `memory`, which has room for block_size_bytes() in whole pages.
    /// \param turn locked while the disk is read: most disks are fastest with one read at a time, and other
    ///     threads verify their blocks meanwhile
    /// \return the bytes of the block
    Result<std::span<std::byte const>> read_block(std::size_t block, std::byte* memory,
                                                  std::mutex& turn) const;

private:
    ShardReader(BlockFile file, CheckpointFile const& expected)
        : file_(std::move(file)), expected_(&expected) {}

    BlockFile file_;
    CheckpointFile const* expected_;
};

/// The error codes::checkpoint_damaged, without the name of the checkpoint.
Error differs(std::string why);

/// Verifies all blocks of a shard with several threads.
Status check_shard(std::filesystem::path const& root, CheckpointFile const& expected, ReadFrom from);

/// Enough threads that one reads while the others verify.
inline constexpr int reader_thread_count = 3;

}  // namespace det::checkpoint
