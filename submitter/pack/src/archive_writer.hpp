#pragma once
#include <det/foundation/files.hpp>
#include <det/foundation/sha256.hpp>

#include <filesystem>
#include <memory>
#include <string_view>
#include <vector>

namespace det::pack {

/// A file that compresses what is written to it and knows its hash. Removed again unless it is kept.
class ArchiveWriter {
public:
    /// For about `size_bytes` of content.
    static Result<ArchiveWriter> create(std::filesystem::path const& directory, std::uint64_t size_bytes);
    ArchiveWriter(ArchiveWriter&&) noexcept;
    ArchiveWriter& operator=(ArchiveWriter&&) = delete;
    ~ArchiveWriter();

    Status write(std::string_view bytes);
    /// Ends the archive. Returns the hash of what was written.
    Result<std::string> finish();
    /// Gives it its name, once its bytes are on the disk.
    Status keep_as(std::filesystem::path const& path);

private:
    struct Compressor;
    ArchiveWriter(std::filesystem::path path, UniqueFd file, std::uint64_t size_bytes);
    Status compress(std::string_view bytes, bool is_end);

    std::filesystem::path path_;  // its temporary name; empty once it is kept
    UniqueFd file_;
    Sha256 hash_;
    std::unique_ptr<Compressor> compressor_;
};

}  // namespace det::pack
