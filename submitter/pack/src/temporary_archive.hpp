#pragma once
#include <det/foundation/files.hpp>
#include <det/foundation/result.hpp>
#include <det/foundation/sync_file.hpp>

#include <cstdint>
#include <filesystem>
#include <string>

namespace det::pack {

/// An archive that is being written under a temporary name, in the directory of the finished archives.
/// create() also removes old temporary files of killed processes. The destructor removes the temporary name.
class TemporaryArchive {
public:
    static Result<TemporaryArchive> create(std::filesystem::path const& contexts);
    TemporaryArchive(TemporaryArchive&&) noexcept;
    TemporaryArchive& operator=(TemporaryArchive&&) = delete;
    ~TemporaryArchive();

    int fd() const { return file_.get(); }
    std::string const& path() const { return path_; }

    enum class StoreResult {
        stored,
        existed,   // the archive existed; this file is not needed
        repaired,  // a damaged archive was replaced
    };
    /// Whether an archive of this name exists and has the same size or contents with the right hash.
    bool is_stored(std::string const& sha256, std::uint64_t size_bytes) const;
    /// Waits until the bytes of the file are on the disk. A second call does nothing.
    Status sync();
    /// Calls sync() and gives the file its name, unless is_stored(). Syncs the name, or adds it to `syncs` if
    /// there is one.
    Result<StoreResult> store_as(std::string const& sha256, std::uint64_t size_bytes,
                                 SyncThread* syncs = nullptr);

private:
    TemporaryArchive(std::string path, UniqueFd file) : path_(std::move(path)), file_(std::move(file)) {}
    std::filesystem::path directory() const { return std::filesystem::path(path_).parent_path(); }
    std::string path_of(std::string const& sha256) const {
        return (directory() / (sha256 + ".tar.zst")).string();
    }

    std::string path_;  // the temporary name; empty if there is nothing to remove
    UniqueFd file_;
    bool is_synced_ = false;
};

}  // namespace det::pack
