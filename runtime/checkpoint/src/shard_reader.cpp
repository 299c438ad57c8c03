#include "shard_reader.hpp"

#include <det/foundation/bytes.hpp>

#include <algorithm>
#include <fmt/format.h>

#include "thread_pool.hpp"

namespace det::checkpoint {

Error differs(std::string why) { return {codes::checkpoint_damaged, std::move(why)}; }

Result<ShardReader> ShardReader::open(std::filesystem::path const& root, CheckpointFile const& expected,
                                      ReadFrom from) {
    auto file = BlockFile::open(root / expected.path, from);
    if (!file) return differs(file.error().message);
    auto const size = file->size_bytes();
    if (!size) return differs(size.error().message);
    if (*size != expected.size_bytes) {
        return differs(
            fmt::format("'{}' has {} bytes in place of {}", expected.path, *size, expected.size_bytes));
    }
    return ShardReader(*std::move(file), expected);
}

Result<std::span<std::byte const>> ShardReader::read_block(std::size_t block, std::byte* memory,
                                                           std::mutex& turn) const {
    auto const offset = block * expected_->block_size_bytes;
    auto const size = std::min(expected_->block_size_bytes, expected_->size_bytes - offset);
    auto const count = [&] {
        std::unique_lock lock(turn, std::defer_lock);
        if (!file_.is_read_ahead()) lock.lock();
        return file_.read(memory, size, offset);
    }();
    if (!count) return differs(count.error().message);
    std::span<std::byte const> const bytes(memory, size);
    if (*count < size || crc32c(bytes) != expected_->block_crc32c[block]) {
        return differs(fmt::format("bytes {} to {} of '{}' don't match their checksum", offset,
                                   offset + size - 1, expected_->path));
    }
    return bytes;
}

Status check_shard(std::filesystem::path const& root, CheckpointFile const& expected, ReadFrom from) {
    DET_TRY_ASSIGN(auto const shard, ShardReader::open(root, expected, from));
    std::mutex turn;
    return each_in_parallel(reader_thread_count, shard.block_count(), {shard.block_size_bytes()},
                            [&](std::size_t block, std::byte* memory) -> Status {
                                DET_TRY(shard.read_block(block, memory, turn));
                                return Ok{};
                            });
}

}  // namespace det::checkpoint
