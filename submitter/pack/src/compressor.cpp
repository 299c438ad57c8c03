#include "compressor.hpp"

#include <det/foundation/files.hpp>
#include <det/foundation/sha256.hpp>

#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <zstd.h>

namespace det::pack {
namespace {

constexpr int compression_level = 3;
constexpr int compression_threads = 2;
// The size of a compression job. With zstd's default of 8 MiB the workers wait for input at the beginning,
// and all wait for one worker at the end. The smaller size makes the file 0.1 % larger.
constexpr int job_bytes = 2 << 20;
constexpr std::uint64_t worth_threads_bytes = 2 * job_bytes;
// Writeback starts each time so many bytes are written, so that the disk works during the compression and
// fsync has little to write.
constexpr std::uint64_t write_back_bytes = std::uint64_t{4} << 20;

ZSTD_CCtx* zstd(void* context) { return static_cast<ZSTD_CCtx*>(context); }

Result<std::size_t> read_some(int fd, std::vector<char>& buffer, std::string const& path) {
    for (;;) {
        auto const count = ::read(fd, buffer.data(), buffer.size());
        if (count >= 0) return static_cast<std::size_t>(count);
        if (errno != EINTR) return os_error(fmt::format("read '{}'", path), errno);
    }
}

}  // namespace

void Compressor::Free::operator()(void* context) const { ZSTD_freeCCtx(zstd(context)); }

Compressor::Compressor(int fd, std::string path, std::uint64_t size_bytes)
    : fd_(fd), path_(std::move(path)), context_(ZSTD_createCCtx()), out_(ZSTD_CStreamOutSize()) {
    ZSTD_CCtx_setParameter(zstd(context_.get()), ZSTD_c_compressionLevel, compression_level);
    ZSTD_CCtx_setParameter(zstd(context_.get()), ZSTD_c_checksumFlag, 1);
    // Setting nbWorkers fails if zstd was built without threads. Then one thread compresses.
    if (size_bytes < worth_threads_bytes) return;
    ZSTD_CCtx_setParameter(zstd(context_.get()), ZSTD_c_nbWorkers, compression_threads);
    ZSTD_CCtx_setParameter(zstd(context_.get()), ZSTD_c_jobSize, job_bytes);
}

Status Compressor::run(std::string_view bytes, bool is_end) {
    ZSTD_inBuffer input{bytes.data(), bytes.size(), 0};
    auto const mode = is_end ? ZSTD_e_end : ZSTD_e_continue;
    for (;;) {
        ZSTD_outBuffer output{out_.data(), out_.size(), 0};
        auto const left = ZSTD_compressStream2(zstd(context_.get()), &output, &input, mode);
        if (ZSTD_isError(left) != 0U) {
            return Error{codes::internal, fmt::format("zstd failed: {}", ZSTD_getErrorName(left))};
        }
        DET_TRY(put({out_.data(), output.pos}));
        if (is_end ? left == 0 : input.pos == input.size) return Ok{};
    }
}

Status Compressor::put(std::string_view bytes) {
    DET_TRY(write_all(fd_, bytes, path_));
    written_bytes_ += bytes.size();
    if (written_bytes_ - writeback_bytes_ < write_back_bytes) return Ok{};
    // Starts writeback early. Errors are ignored, because fsync writes the rest.
    (void)::sync_file_range(fd_, static_cast<off64_t>(writeback_bytes_),
                            static_cast<off64_t>(written_bytes_ - writeback_bytes_), SYNC_FILE_RANGE_WRITE);
    writeback_bytes_ = written_bytes_;
    return Ok{};
}

Result<std::string> hash_decompressed(std::string const& path) {
    UniqueFd const file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file) return os_error(fmt::format("read '{}'", path), errno);
    std::unique_ptr<ZSTD_DStream, decltype(&ZSTD_freeDStream)> const stream(ZSTD_createDStream(),
                                                                            ZSTD_freeDStream);
    std::vector<char> in(ZSTD_DStreamInSize()), out(ZSTD_DStreamOutSize());
    Sha256 hash;
    std::size_t left = 1;
    for (;;) {
        DET_TRY_ASSIGN(auto const count, read_some(file.get(), in, path));
        if (count == 0) break;
        ZSTD_inBuffer input{in.data(), count, 0};
        while (input.pos < input.size) {
            ZSTD_outBuffer output{out.data(), out.size(), 0};
            left = ZSTD_decompressStream(stream.get(), &output, &input);
            if (ZSTD_isError(left) != 0U) return Error{codes::damaged, ZSTD_getErrorName(left)};
            hash.update({out.data(), output.pos});
        }
    }
    if (left != 0) return Error{codes::damaged, "it was cut short"};
    return hash.finish();
}

}  // namespace det::pack
