#pragma once
#include <det/experiment_pack/pack_index.hpp>
#include <det/journal/pack_summary.hpp>

#include <filesystem>
#include <string>

namespace det::experiment_pack {

/// A pack that is open for reading, with its index. The index is checked; the files are checked when they
/// are read.
struct PackFile {
    journal::PackHead head;
    Index index;
    std::string sha256;  // of the index, which has that of each file: names the contents of the pack

    /// Reads the index of a pack. codes::damaged if it is cut short, has another checksum or is not valid.
    static Result<PackFile> load(journal::PackHead head);
    /// Opens the pack of the experiment in `directory` as journal::open_pack() does.
    /// codes::wrong_state if the experiment is not packed.
    static Result<PackFile> open(std::filesystem::path const& directory);

    /// Reads all files and compares their checksums. codes::damaged names the first one that differs.
    Status verify() const;
};

/// The end of a pack, after its index.
std::string render_pack_end(std::uint64_t index_at, std::uint64_t index_stored_bytes, std::string_view index);

}  // namespace det::experiment_pack
