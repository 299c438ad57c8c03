#include "archive_writer.hpp"

#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <zstd.h>

namespace det::pack {
namespace {

constexpr int compression_level = 3;
// zstd gives each thread 8 MiB at this level: for less, threads are only started and ended again.
constexpr int compression_threads = 2;
constexpr std::uint64_t worth_threads_bytes = std::uint64_t{8} << 20;

}  // namespace

struct ArchiveWriter::Compressor {
    ZSTD_CCtx* context = ZSTD_createCCtx();
    std::vector<char> out = std::vector<char>(ZSTD_CStreamOutSize());

    explicit Compressor(std::uint64_t size_bytes) {
        ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, compression_level);
        ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
        // Refused where zstd was built without threads: one is right as well.
        if (size_bytes > worth_threads_bytes)
            ZSTD_CCtx_setParameter(context, ZSTD_c_nbWorkers, compression_threads);
    }
    ~Compressor() { ZSTD_freeCCtx(context); }
    Compressor(Compressor const&) = delete;
    Compressor& operator=(Compressor const&) = delete;
};

Result<ArchiveWriter> ArchiveWriter::create(std::filesystem::path const& directory,
                                            std::uint64_t size_bytes) {
    auto pattern = (directory / ".context.XXXXXX").string();
    UniqueFd file(::mkostemp(pattern.data(), O_CLOEXEC));
    if (!file) return os_error(fmt::format("create a file in '{}'", directory.string()), errno);
    return ArchiveWriter(pattern, std::move(file), size_bytes);
}

ArchiveWriter::ArchiveWriter(std::filesystem::path path, UniqueFd file, std::uint64_t size_bytes)
    : path_(std::move(path)), file_(std::move(file)), compressor_(std::make_unique<Compressor>(size_bytes)) {}

ArchiveWriter::ArchiveWriter(ArchiveWriter&& other) noexcept
    : path_(std::exchange(other.path_, {})),
      file_(std::move(other.file_)),
      hash_(std::move(other.hash_)),
      compressor_(std::move(other.compressor_)) {}

ArchiveWriter::~ArchiveWriter() {
    if (!path_.empty()) ::unlink(path_.c_str());
}

Status ArchiveWriter::write(std::string_view bytes) {
    hash_.update(bytes);
    return compress(bytes, false);
}

Status ArchiveWriter::compress(std::string_view bytes, bool is_end) {
    ZSTD_inBuffer input{bytes.data(), bytes.size(), 0};
    auto const mode = is_end ? ZSTD_e_end : ZSTD_e_continue;
    for (;;) {
        ZSTD_outBuffer output{compressor_->out.data(), compressor_->out.size(), 0};
        auto const left = ZSTD_compressStream2(compressor_->context, &output, &input, mode);
        if (ZSTD_isError(left) != 0U) {
            return Error{codes::internal, fmt::format("zstd failed: {}", ZSTD_getErrorName(left))};
        }
        DET_TRY(write_all(file_.get(), {compressor_->out.data(), output.pos}, path_.string()));
        if (is_end ? left == 0 : input.pos == input.size) return Ok{};
    }
}

Result<std::string> ArchiveWriter::finish() {
    DET_TRY(compress({}, true));
    return hash_.finish();
}

Status ArchiveWriter::keep_as(std::filesystem::path const& path) {
    if (::fsync(file_.get()) != 0) return os_error(fmt::format("sync '{}'", path_.string()), errno);
    if (::rename(path_.c_str(), path.c_str()) != 0)
        return os_error(fmt::format("write '{}'", path.string()), errno);
    path_.clear();
    return sync_directory(path.parent_path());
}

}  // namespace det::pack
