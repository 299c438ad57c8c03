#pragma once
#include <det/foundation/diagnostic.hpp>
#include <det/pack/context_tree.hpp>

#include <filesystem>
#include <functional>
#include <span>
#include <string>

namespace det::pack {

/// A stored context.
struct PackedContext {
    std::string sha256;            // of the uncompressed archive; its name
    std::uint64_t size_bytes = 0;  // of the files in the archive
    bool existed = false;          // the archive was stored before
    bool was_repaired = false;     // the stored archive was damaged and is replaced
};

/// Packs a listed tree into <contexts>/<sha256>.tar.zst. The same tree gives the same name and is stored
/// once; two processes may pack it at the same time. A file that has changed since the listing is an error.
/// After an error no temporary file is left in `contexts`.
Result<PackedContext> pack_context(ContextTree const& tree, std::filesystem::path const& contexts);

/// Fills the buffer with the next bytes of an archive; returns their number, 0 at the end.
using ReadArchive = std::function<std::size_t(std::span<char>)>;

/// Stores an archive that another machine has packed as <contexts>/<sha256>.tar.zst. codes::damaged, and
/// nothing is stored, if its contents do not have that hash.
Status receive_context(ReadArchive const& read, std::string const& sha256,
                       std::filesystem::path const& contexts);

}  // namespace det::pack
