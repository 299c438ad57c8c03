#pragma once
#include <det/experiment_pack/pack_index.hpp>
#include <det/foundation/files.hpp>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace det::experiment_pack {

/// Cuts a stream of bytes into blocks and appends each of them, compressed, to a file.
class BlockWriter {
public:
    /// The caller owns the file; `path` names it in messages.
    BlockWriter(int file, std::string path);
    ~BlockWriter();

    Status write(std::string_view bytes);
    /// Writes the last block.
    Status finish();
    std::uint64_t contents_bytes() const { return contents_bytes_; }
    std::vector<std::uint32_t> const& blocks() const { return blocks_; }

private:
    struct Zstd;
    Status write_block();

    int file_;
    std::string path_;
    std::unique_ptr<Zstd> zstd_;
    std::string block_, compressed_;
    std::vector<std::uint32_t> blocks_;
    std::uint64_t contents_bytes_ = 0;
};

/// Reads ranges of the contents that a BlockWriter has written. Keeps one block, so that ascending reads
/// decompress each block once.
class BlockReader {
public:
    /// \param file must stay open as long as this object is used
    /// \param blocks_at where the first block begins in the file
    BlockReader(int file, std::string path, std::uint64_t blocks_at, Index const& index);
    ~BlockReader();
    BlockReader(BlockReader&&) noexcept;

    /// Returns the bytes from `at` to the end of their block, at most `size_bytes`. The view is valid until
    /// the next call. codes::damaged if a block is cut short or has another checksum.
    /// \pre at + size_bytes is within the contents
    Result<std::string_view> read(std::uint64_t at, std::uint64_t size_bytes);

private:
    struct Zstd;
    Status load_block(std::uint64_t number);

    int file_;
    std::string path_;
    std::unique_ptr<Zstd> zstd_;
    std::vector<std::uint64_t> places_;  // of each block in the file, and of the end of the last
    std::uint64_t contents_bytes_;
    std::uint64_t loaded_;  // number of the block in block_
    std::string block_, compressed_;
};

/// Compresses a text as one block. codes::internal if zstd fails.
Result<std::string> compress_text(std::string_view text);
/// Decompresses it. codes::damaged if it has not exactly `size_bytes` bytes.
Result<std::string> decompress_text(std::string_view compressed, std::size_t size_bytes);
/// Reads a range of a file. codes::damaged if the file ends before it.
Result<std::string> read_range(int file, std::string const& path, std::uint64_t at, std::size_t size_bytes);

}  // namespace det::experiment_pack
