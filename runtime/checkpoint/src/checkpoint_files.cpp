#include "checkpoint_files.hpp"

#include <det/foundation/bytes.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>
#include <det/protocol/json.hpp>

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "checkpoint_owner.hpp"
#include "host_memory.hpp"
#include "parallel.hpp"

namespace det::checkpoint {
namespace {

constexpr std::size_t read_size_bytes = std::size_t{4} << 20;

/// codes::checkpoint_damaged with only the reason; callers add the checkpoint's UUID with damaged_error().
Error differs(std::string why) { return {codes::checkpoint_damaged, std::move(why)}; }

/// Verifies all blocks of a shard with several threads.
Status check_shard(std::filesystem::path const& root, CheckpointFile const& expected, ReadFrom from) {
    DET_TRY_ASSIGN(auto const shard, ShardReader::open(root, expected, from));
    std::mutex turn;
    return each_in_parallel(reader_thread_count, shard.block_count(), {shard.block_size_bytes()},
                            [&](std::size_t block, std::byte* memory) -> Status {
                                DET_TRY(shard.read_block(block, memory, turn));
                                return Ok{};
                            });
}

}  // namespace

Result<CheckpointFile> sum_file(std::filesystem::path const& root, std::string const& relative,
                                ReadFrom from) {
    DET_TRY_ASSIGN(auto const file, BlockFile::open(root / relative, from));
    DET_TRY_ASSIGN(auto const size, file.size_bytes());
    // Checkpoints may have hundreds of small files, and filling the memory of a large read takes longer than
    // reading such a file. One byte more than the file: then the first read finds its end.
    auto const read_size = static_cast<std::size_t>(std::min<std::uint64_t>(size + 1, read_size_bytes));
    DET_TRY_ASSIGN(auto const memory, HostMemory::allocate(read_size));
    CheckpointFile sum{relative, 0, 0};
    for (;;) {
        DET_TRY_ASSIGN(auto const count, file.read(memory.data(), memory.size_bytes(), sum.size_bytes));
        sum.crc32c = crc32c(std::span<std::byte const>(memory.data(), count), sum.crc32c);
        sum.size_bytes += count;
        if (count < memory.size_bytes()) return sum;
    }
}

Result<CheckpointFile> sync_and_sum(std::filesystem::path const& root, std::string const& relative) {
    UniqueFd const file(::open((root / relative).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    if (!file) return os_error(fmt::format("read '{}'", (root / relative).string()), errno);
    DET_TRY(keep_from_others(file.get(), (root / relative).string()));
    if (::fsync(file.get()) != 0)
        return os_error(fmt::format("sync '{}'", (root / relative).string()), errno);
    return sum_file(root, relative);
}

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
        if (!file_.uses_page_cache()) lock.lock();
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

Status check_file(std::filesystem::path const& root, CheckpointFile const& expected, ReadFrom from) {
    if (expected.block_size_bytes != 0) return check_shard(root, expected, from);
    auto const actual = sum_file(root, expected.path, from);
    if (!actual) return differs(actual.error().message);
    if (actual->size_bytes != expected.size_bytes) {
        return differs(fmt::format("'{}' has {} bytes in place of {}", expected.path, actual->size_bytes,
                                   expected.size_bytes));
    }
    if (actual->crc32c != expected.crc32c)
        return differs(fmt::format("the checksum of '{}' does not match", expected.path));
    return Ok{};
}

Result<CheckpointFile> write_metadata(std::filesystem::path const& directory, Json const& metadata) {
    auto const text = to_lines(metadata, 2) + "\n";
    DET_TRY(write_file(directory / metadata_name, text, 0600, Durability::power_loss));
    return CheckpointFile{std::string(metadata_name), text.size(), crc32c(text)};
}

Status check_name(std::string const& path) {
    if (is_valid_utf8(path)) return Ok{};
    return Error{codes::bad_value,
                 fmt::format("'{}' is not UTF-8: a checkpoint's manifest can't name it", path),
                 "give the file another name"};
}

Status check_metadata(Json const& metadata) {
    if (metadata.is_object()) return Ok{};
    return Error{codes::misuse, "a checkpoint's metadata is a map"};
}

Error clean_up_after(Error error, Store& store, std::string const& uuid) {
    auto const removed = store.remove(uuid);
    return removed ? error
                   : std::move(error).noting("its files could not be removed: " + removed.error().message);
}

Result<CheckpointManifest> commit_files(Store& store, CheckpointManifest manifest,
                                        MayCommit const& may_commit, WriteRetry const& retry) {
    SystemClock clock;
    auto const put_metadata = [&]() -> Result<CheckpointFile> {
        DET_TRY_ASSIGN(auto const directory, store.create_directory(manifest.uuid));
        DET_TRY_ASSIGN(auto metadata, write_metadata(directory, *manifest.metadata));
        DET_TRY(store.put_files(manifest.uuid, {&metadata, 1}));
        return metadata;
    };
    auto const published = [&]() -> Status {
        DET_TRY_ASSIGN(auto metadata, repeat_write(clock, retry, put_metadata));
        manifest.files.push_back(std::move(metadata));
        std::ranges::sort(manifest.files, {}, &CheckpointFile::path);
        return repeat_write(clock, retry, [&] { return store.publish(manifest, may_commit); });
    }();
    if (published) return manifest;
    return clean_up_after(published.error(), store, manifest.uuid);
}

}  // namespace det::checkpoint
