#pragma once
#include <det/checkpoint/store.hpp>
#include <det/foundation/files.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>

namespace det::checkpoint {

/// A file that is written or read in blocks, around the page cache where its file system can do that, else
/// through it. Blocks lie in memory that is aligned to pages, and begin at multiples of a page in the file.
/// Several threads may use it at once.
class BlockFile {
public:
    /// A new file; its space is taken from the file system at once, so that a full disk is known early.
    static Result<BlockFile> create(std::filesystem::path path, std::uint64_t size_bytes);
    /// page_cache_or_disk: through the page cache where the file's beginning lies there.
    static Result<BlockFile> open(std::filesystem::path path, ReadFrom from = ReadFrom::disk);

    /// May write up to the end of the last page: the memory must be there, finish() cuts the file.
    Status write(std::byte const* block, std::size_t size_bytes, std::uint64_t offset);
    /// As much as the file has, up to size_bytes rounded up to pages.
    Result<std::size_t> read(std::byte* block, std::size_t size_bytes, std::uint64_t offset) const;
    /// The file has this size, and its bytes are on the disk.
    Status finish(std::uint64_t size_bytes);

    Result<std::uint64_t> size_bytes() const;
    /// Whether reads come from the page cache.
    bool is_read_ahead() const { return is_read_ahead_; }

private:
    BlockFile(UniqueFd file, std::filesystem::path path) : file_(std::move(file)), path_(std::move(path)) {}
    /// After EINVAL: true where it is worth another try, without O_DIRECT.
    bool leave_direct() const;

    UniqueFd file_;
    std::filesystem::path path_;
    bool is_read_ahead_ = false;
};

}  // namespace det::checkpoint
