#pragma once
#include <det/checkpoint/store.hpp>

#include <mutex>
#include <span>

#include "block_file.hpp"

namespace det::checkpoint {

/// Reads a file once.
/// \return the file's path, size and checksum
Result<CheckpointFile> sum_file(std::filesystem::path const& root, std::string const& relative,
                                ReadFrom from = ReadFrom::disk);

/// Syncs a file and then does the same as sum_file(). Takes the permission to write away from others. Fails
/// for a symbolic link.
Result<CheckpointFile> sync_and_sum(std::filesystem::path const& root, std::string const& relative);

/// Enough threads that one reads while the others verify.
inline constexpr int reader_thread_count = 3;

/// Reads the blocks of a shard and verifies their checksums. Several threads may use it at once.
/// Errors: codes::checkpoint_damaged names the file and the bytes that differ from the manifest.
class ShardReader {
public:
    /// \param expected must outlive the reader
    static Result<ShardReader> open(std::filesystem::path const& root, CheckpointFile const& expected,
                                    ReadFrom from);

    std::size_t block_count() const { return expected_->block_crc32c.size(); }
    std::uint64_t block_size_bytes() const { return expected_->block_size_bytes; }
    /// Reads a block into `memory`, which has room for block_size_bytes() in whole pages.
    /// \param turn locked while the disk is read: most disks are fastest with one read at a time, and other
    ///     threads verify their blocks meanwhile. Not locked if open() has found the file in the page cache
    /// \return the bytes of the block
    Result<std::span<std::byte const>> read_block(std::size_t block, std::byte* memory,
                                                  std::mutex& turn) const;

private:
    ShardReader(BlockFile file, CheckpointFile const& expected)
        : file_(std::move(file)), expected_(&expected) {}

    BlockFile file_;
    CheckpointFile const* expected_;
};

/// Compares a file with its entry in a manifest.
/// \return codes::checkpoint_damaged; the message says what differs, or why the file can't be read
Status check_file(std::filesystem::path const& root, CheckpointFile const& expected, ReadFrom from);

/// Writes metadata.json, as Determined writes it beside the user's files, and syncs it.
Result<CheckpointFile> write_metadata(std::filesystem::path const& directory, Json const& metadata);

/// Checks the path of a file before a manifest names it.
/// \return codes::bad_value if it is not UTF-8
Status check_name(std::string const& path);

/// Checks the metadata of a checkpoint.
/// \return codes::misuse if it is not a JSON object
Status check_metadata(Json const& metadata);

/// Called by the chief when all ranks have put their files into the store: writes metadata.json, adds it to
/// the manifest and publishes the manifest. Repeats what the file system can't take now. After an error the
/// files of the checkpoint are removed.
Result<CheckpointManifest> commit_files(Store& store, CheckpointManifest manifest,
                                        MayCommit const& may_commit, WriteRetry const& retry);

/// Removes the files of a checkpoint that failed, so that failed saves do not fill the disk.
/// \return the error, with a note if the files could not be removed
Error clean_up_after(Error error, Store& store, std::string const& uuid);

}  // namespace det::checkpoint
