#include "block_stream.hpp"

#include <algorithm>
#include <cerrno>
#include <fmt/format.h>
#include <unistd.h>
#include <zstd.h>

namespace det::experiment_pack {
namespace {

constexpr int block_compression_level = 3;
constexpr std::uint64_t no_block = ~std::uint64_t{0};

Error damaged_pack(std::string const& path, std::string_view what) {
    return {codes::damaged, fmt::format("the pack '{}' is damaged: {}", path, what)};
}

}  // namespace

struct BlockWriter::Zstd {
    std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> context{ZSTD_createCCtx(), ZSTD_freeCCtx};
};

BlockWriter::BlockWriter(int file, std::string path)
    : file_(file), path_(std::move(path)), zstd_(std::make_unique<Zstd>()) {
    ZSTD_CCtx_setParameter(zstd_->context.get(), ZSTD_c_compressionLevel, block_compression_level);
    ZSTD_CCtx_setParameter(zstd_->context.get(), ZSTD_c_checksumFlag, 1);
    compressed_.resize(ZSTD_compressBound(block_bytes));
    block_.reserve(block_bytes);
}

BlockWriter::~BlockWriter() = default;

Status BlockWriter::write_block() {
    auto const size = ZSTD_compress2(zstd_->context.get(), compressed_.data(), compressed_.size(),
                                     block_.data(), block_.size());
    if (ZSTD_isError(size) != 0U)
        return Error{codes::internal, fmt::format("zstd failed: {}", ZSTD_getErrorName(size))};
    DET_TRY(write_all(file_, {compressed_.data(), size}, path_));
    blocks_.push_back(static_cast<std::uint32_t>(size));
    block_.clear();
    return Ok{};
}

Status BlockWriter::write(std::string_view bytes) {
    contents_bytes_ += bytes.size();
    while (!bytes.empty()) {
        auto const part = bytes.substr(0, block_bytes - block_.size());
        block_ += part;
        bytes.remove_prefix(part.size());
        if (block_.size() == block_bytes) DET_TRY(write_block());
    }
    return Ok{};
}

Status BlockWriter::finish() { return block_.empty() ? Status(Ok{}) : write_block(); }

struct BlockReader::Zstd {
    std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context{ZSTD_createDCtx(), ZSTD_freeDCtx};
};

BlockReader::BlockReader(int file, std::string path, std::uint64_t blocks_at, Index const& index)
    : file_(file),
      path_(std::move(path)),
      zstd_(std::make_unique<Zstd>()),
      places_{blocks_at},
      contents_bytes_(index.contents_bytes()),
      loaded_(no_block) {
    for (auto const size : index.blocks) places_.push_back(places_.back() + size);
}

BlockReader::~BlockReader() = default;
BlockReader::BlockReader(BlockReader&&) noexcept = default;

Status BlockReader::load_block(std::uint64_t number) {
    if (loaded_ == number) return Ok{};
    loaded_ = no_block;
    if (number + 1 >= places_.size()) return damaged_pack(path_, "a block is missing");
    DET_TRY_ASSIGN(compressed_,
                   read_range(file_, path_, places_[number], places_[number + 1] - places_[number]));
    auto const begin = number * block_bytes;
    block_.resize(std::min<std::uint64_t>(block_bytes, contents_bytes_ - begin));
    // The size is the limit: a block that claims more is an error, so that no small file becomes a large one.
    auto const size = ZSTD_decompressDCtx(zstd_->context.get(), block_.data(), block_.size(),
                                          compressed_.data(), compressed_.size());
    if (ZSTD_isError(size) != 0U)
        return damaged_pack(path_, fmt::format("block {}: {}", number, ZSTD_getErrorName(size)));
    if (size != block_.size()) return damaged_pack(path_, fmt::format("block {} is cut short", number));
    loaded_ = number;
    return Ok{};
}

Result<std::string_view> BlockReader::read(std::uint64_t at, std::uint64_t size_bytes) {
    DET_TRY(load_block(at / block_bytes));
    return std::string_view(block_).substr(at % block_bytes, size_bytes);
}

Result<std::string> compress_text(std::string_view text) {
    std::string compressed(ZSTD_compressBound(text.size()), '\0');
    auto const size = ZSTD_compress(compressed.data(), compressed.size(), text.data(), text.size(),
                                    block_compression_level);
    if (ZSTD_isError(size) != 0U)
        return Error{codes::internal, fmt::format("zstd failed: {}", ZSTD_getErrorName(size))};
    compressed.resize(size);
    return compressed;
}

Result<std::string> decompress_text(std::string_view compressed, std::size_t size_bytes) {
    std::string text(size_bytes, '\0');
    auto const size = ZSTD_decompress(text.data(), text.size(), compressed.data(), compressed.size());
    if (ZSTD_isError(size) != 0U) return Error{codes::damaged, ZSTD_getErrorName(size)};
    if (size != size_bytes) return Error{codes::damaged, "it is cut short"};
    return text;
}

Result<std::string> read_range(int file, std::string const& path, std::uint64_t at, std::size_t size_bytes) {
    std::string bytes(size_bytes, '\0');
    for (std::size_t done = 0; done < size_bytes;) {
        auto const count =
            ::pread(file, bytes.data() + done, size_bytes - done, static_cast<off_t>(at + done));
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return os_error(fmt::format("read '{}'", path), errno);
        if (count == 0) return damaged_pack(path, "it is cut short");
        done += static_cast<std::size_t>(count);
    }
    return bytes;
}

}  // namespace det::experiment_pack
