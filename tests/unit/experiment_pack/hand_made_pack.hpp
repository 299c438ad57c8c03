#pragma once
// Packs whose parts a test chooses.
#include <zstd.h>

#include "block_stream.hpp"
#include "pack_support.hpp"

namespace det::experiment_pack {

/// A pack with any index and any blocks, with checksums that are right.
inline std::string make_pack(std::string const& index, std::string const& blocks,
                             std::uint32_t experiment = 7) {
    journal::PackSummary summary;
    summary.experiment = {experiment};
    auto pack = journal::render_pack_head(summary);
    auto const index_at = pack.size() + blocks.size();
    auto const stored = must(compress_text(index));
    return pack + blocks + stored + render_pack_end(index_at, stored.size(), index);
}

inline std::string compress(std::string_view text) {
    std::string stored(ZSTD_compressBound(text.size()), '\0');
    stored.resize(ZSTD_compress(stored.data(), stored.size(), text.data(), text.size(), 3));
    return stored;
}

inline std::string sha256_of(std::string_view text) {
    Sha256 hash;
    hash.update(text);
    return hash.finish();
}

inline Entry directory_entry(std::string path) {
    Entry entry;
    entry.path = std::move(path);
    entry.kind = Entry::Kind::directory;
    entry.mode = 0700;
    return entry;
}

inline Entry file_entry(std::string path, std::string_view text, std::uint64_t contents_at = 0) {
    Entry entry;
    entry.path = std::move(path);
    entry.mode = 0600;
    entry.size_bytes = text.size();
    if (!text.empty()) entry.data = {{0, text.size()}};
    entry.contents_at = contents_at;
    entry.sha256 = sha256_of(text);
    return entry;
}

}  // namespace det::experiment_pack
