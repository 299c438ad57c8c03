#include "archive_writer.hpp"

#include <algorithm>

namespace det::pack {

ArchiveWriter::ArchiveWriter(int fd, std::string path, std::uint64_t size_bytes)
    : compressor_(fd, std::move(path), size_bytes), block_(hash_.take_buffer()) {}

Status ArchiveWriter::write(std::string_view bytes) {
    while (!bytes.empty()) {
        auto const free = free_space();
        auto const size = std::min(free.size(), bytes.size());
        std::copy_n(bytes.begin(), size, free.begin());
        DET_TRY(advance(size));
        bytes.remove_prefix(size);
    }
    return Ok{};
}

std::span<char> ArchiveWriter::free_space() { return std::span(block_).subspan(used_); }

Status ArchiveWriter::advance(std::size_t size_bytes) {
    used_ += size_bytes;
    if (used_ < block_.size()) return Ok{};
    DET_TRY(compressor_.write({block_.data(), block_.size()}));
    hash_.hash(std::exchange(block_, {}));
    block_ = hash_.take_buffer();
    used_ = 0;
    return Ok{};
}

Result<ArchiveWriter::Finished> ArchiveWriter::finish() {
    std::string_view const rest(block_.data(), used_);
    DET_TRY(compressor_.write(rest));
    DET_TRY(compressor_.finish());
    return Finished{hash_.finish(rest), compressor_.size_bytes()};
}

}  // namespace det::pack
