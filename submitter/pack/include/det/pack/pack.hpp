#pragma once
#include <det/foundation/diagnostic.hpp>
#include <det/pack/tree.hpp>

#include <filesystem>
#include <string>

namespace det::pack {

/// A stored context.
struct PackedContext {
    std::string sha256;            // of the uncompressed archive: names it
    std::uint64_t size_bytes = 0;  // of the files in it
    bool existed = false;          // the same code was stored before
    bool was_repaired = false;     // and is mended now
};

/// Packs a tree that was listed just now into <contexts>/<sha256>.tar.zst. The same tree gives the same name,
/// and is stored once; two may pack it at once. A file that is not as it was listed is an error. After an
/// error nothing new is left in `contexts`.
Result<PackedContext> pack_context(ContextTree const& tree, std::filesystem::path const& contexts);

}  // namespace det::pack
