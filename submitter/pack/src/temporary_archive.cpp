#include "temporary_archive.hpp"

#include <det/foundation/files.hpp>
#include <det/foundation/shared_directory.hpp>
#include <det/foundation/temporary_names.hpp>

#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compressor.hpp"

namespace det::pack {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view temporary_prefix = ".context.";

bool is_intact(std::string const& path, std::string const& sha256, std::uint64_t size_bytes) {
    struct stat info {};
    if (::lstat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return false;
    if (static_cast<std::uint64_t>(info.st_size) == size_bytes) return true;
    // The size differs if another release of zstd has compressed the same contents.
    auto const holds = hash_decompressed(path);
    return holds && *holds == sha256;
}

}  // namespace

Result<TemporaryArchive> TemporaryArchive::create(fs::path const& contexts) {
    constexpr int attempts = 5;
    for (int attempt = 1;; ++attempt) {
        DET_TRY(make_directories(contexts));
        auto path = (contexts / (std::string(temporary_prefix) + "XXXXXX")).string();
        UniqueFd file(::mkostemp(path.data(), O_CLOEXEC));
        if (file) {
            share_new_file(file.get(), path);
            remove_old_temporaries(contexts, temporary_prefix, path);
            return TemporaryArchive(std::move(path), std::move(file));
        }
        // A failed creation of another process may remove the empty directory.
        if (errno != ENOENT || attempt == attempts)
            return os_error(fmt::format("create a file in '{}'", contexts.string()), errno);
    }
}

TemporaryArchive::TemporaryArchive(TemporaryArchive&& other) noexcept
    : path_(std::exchange(other.path_, {})), file_(std::move(other.file_)), is_synced_(other.is_synced_) {}

TemporaryArchive::~TemporaryArchive() {
    if (!path_.empty()) ::unlink(path_.c_str());
}

bool TemporaryArchive::is_stored(std::string const& sha256, std::uint64_t size_bytes) const {
    return is_intact(path_of(sha256), sha256, size_bytes);
}

Status TemporaryArchive::sync() {
    if (!is_synced_ && ::fsync(file_.get()) != 0) return os_error(fmt::format("sync '{}'", path_), errno);
    is_synced_ = true;
    return Ok{};
}

Result<TemporaryArchive::StoreResult> TemporaryArchive::store_as(std::string const& sha256,
                                                                 std::uint64_t size_bytes,
                                                                 SyncThread* syncs) {
    auto const contexts = directory();
    auto const path = path_of(sha256);
    if (is_stored(sha256, size_bytes)) return StoreResult::existed;
    DET_TRY(sync());
    // link(2), not rename: on NFS a replaced file is lost to its readers on other machines.
    auto stored_as = StoreResult::stored;
    if (::link(path_.c_str(), path.c_str()) != 0) {
        if (errno != EEXIST) return os_error(fmt::format("write '{}'", path), errno);
        if (is_stored(sha256, size_bytes)) return StoreResult::existed;
        if (rename_own(path_, path) != 0)
            return os_error(fmt::format("replace the damaged '{}'", path), errno);
        path_.clear();
        stored_as = StoreResult::repaired;
    }
    DET_TRY(sync_directory(contexts, syncs));
    return stored_as;
}

}  // namespace det::pack
