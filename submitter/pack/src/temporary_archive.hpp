#pragma once
#include <det/foundation/files.hpp>

#include <filesystem>

namespace det::pack {

/// An archive that is being written, in the directory of the finished ones. The destructor removes it unless
/// store_as() gave it its name. Old temporary files of killed processes are removed.
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
    /// Gives the file its name after its bytes are on the disk. An existing archive of this name stays if it
    /// has the same size or its contents have the right hash.
    Result<StoreResult> store_as(std::string const& sha256, std::uint64_t size_bytes);

private:
    TemporaryArchive(std::string path, UniqueFd file) : path_(std::move(path)), file_(std::move(file)) {}

    std::string path_;  // empty after it has its name
    UniqueFd file_;
};

}  // namespace det::pack
