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
    bool was_there = false;        // the same code was stored before
};

/// Packs a context directory into <contexts>/<sha256>.tar.zst. The same tree gives the same name, and is
/// stored once. A file that changes while it is read is an error. After an error nothing new is left in
/// `contexts`.
Result<PackedContext, Diagnostics> pack_context(std::filesystem::path const& directory,
                                                std::filesystem::path const& contexts);

}  // namespace det::pack
