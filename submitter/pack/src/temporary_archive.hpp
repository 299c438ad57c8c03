#pragma once
#include <det/foundation/files.hpp>

#include <filesystem>

namespace det::pack {

/// An archive that is being made, in the directory of the finished ones. Removed again unless it is kept;
/// what a killed det-submit has left there is removed when it is old.
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
        existed,   // so this one is not needed
        repaired,  // what was there was damaged, and is replaced
    };
    /// Gives it its name, once its bytes are on the disk. An archive of this name stays, if it is as large as
    /// this one or holds what its name says.
    Result<StoreResult> store_as(std::string const& sha256, std::uint64_t size_bytes);

private:
    TemporaryArchive(std::string path, UniqueFd file) : path_(std::move(path)), file_(std::move(file)) {}

    std::string path_;  // empty once it has its name
    UniqueFd file_;
};

}  // namespace det::pack
