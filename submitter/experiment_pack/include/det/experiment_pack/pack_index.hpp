#pragma once
#include <det/foundation/result.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

// The index of a pack: which files it has and where their bytes are (FORMAT.md). Pure.
namespace det::experiment_pack {

/// A range of bytes.
struct Extent {
    std::uint64_t at;
    std::uint64_t size_bytes;
    friend bool operator==(Extent const&, Extent const&) = default;
};

struct Entry {
    enum class Kind { directory, file, symlink, hardlink };

    std::string path;  // relative to the experiment's directory, which is ""
    Kind kind = Kind::file;
    mode_t mode = 0;  // the permission bits
    gid_t group = 0;
    std::int64_t modified_ns = 0;  // since 1970
    std::string target;            // of a symlink: its text; of a hard link: the path of the first name
    // Of a file:
    std::uint64_t size_bytes = 0;
    std::vector<Extent> data;       // ascending; the file has holes between
    std::uint64_t contents_at = 0;  // where the bytes of `data` begin in the contents of the pack
    std::string sha256;             // of the bytes of `data`

    std::uint64_t data_bytes() const;
    friend bool operator==(Entry const&, Entry const&) = default;
};

/// The contents of a pack are the bytes of all files, one after the other. They are cut into blocks of this
/// size, each of which is compressed alone.
inline constexpr std::size_t block_bytes = std::size_t{1} << 20;

struct Index {
    std::vector<std::uint32_t> blocks;  // the compressed size of each, in bytes
    std::vector<Entry> entries;         // a directory comes before what is in it

    std::uint64_t contents_bytes() const;
};

inline constexpr std::size_t index_limit_bytes = std::size_t{256} << 20;

std::string render_index(Index const& index);

/// Parses an index, which another user may have written: paths are relative, have no component "..", and
/// lie in directories of the index, each once; the data of files lies in the file, and the contents of files
/// follow each other without overlaps. codes::damaged otherwise.
Result<Index> parse_index(std::string_view text);

/// Writes a path as text: bytes outside printable ASCII, and '%', as %XX.
std::string escape_path(std::string_view path);

}  // namespace det::experiment_pack
