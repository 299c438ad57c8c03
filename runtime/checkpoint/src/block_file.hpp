#pragma once
#include <det/checkpoint/store.hpp>
#include <det/foundation/files.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>

namespace det::checkpoint {

/// A file that is written or read in blocks. Uses O_DIRECT, except if the file system does not support it or
/// open() finds a file to read in the page cache. Memory and file offsets of blocks are aligned to pages.
/// Several threads may read or write blocks at once.
class BlockFile {
public:
    /// Creates a file and reserves its space if the file system can, so that a full disk is known early.
    /// Leaves no file if it fails.
    static Result<BlockFile> create(std::filesystem::path path, std::uint64_t size_bytes);
    /// With page_cache_or_disk, reads through the page cache if the first page of the file is in it.
    static Result<BlockFile> open(std::filesystem::path path, ReadFrom from = ReadFrom::disk);

    /// Writes whole pages: the memory must be readable up to the end of the last page. finish() truncates the
    /// file to its real size.
    Status write(std::byte const* block, std::size_t size_bytes, std::uint64_t offset);
    /// Reads up to size_bytes, rounded up to pages: the memory must have room for whole pages.
    /// \return the number of bytes read. It is less than size_bytes only at the end of the file, and may be
    ///     more, up to the end of the last page
    Result<std::size_t> read(std::byte* block, std::size_t size_bytes, std::uint64_t offset) const;
    /// Truncates the file to its size, syncs and closes it.
    Status finish(std::uint64_t size_bytes);

    Result<std::uint64_t> size_bytes() const;
    /// True if open() has found the beginning of the file in the page cache.
    bool uses_page_cache() const { return is_read_ahead_; }

private:
    BlockFile(UniqueFd file, std::filesystem::path path) : file_(std::move(file)), path_(std::move(path)) {}
    /// Turns O_DIRECT off, which another thread may have done before.
    bool leave_direct() const;

    UniqueFd file_;
    std::filesystem::path path_;
    bool is_read_ahead_ = false;
};

}  // namespace det::checkpoint
