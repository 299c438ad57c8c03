#pragma once
#include <det/foundation/clock.hpp>
#include <det/protocol/document.hpp>
#include <det/protocol/ids.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace det {

/// A file of a checkpoint, relative to the checkpoint's directory.
struct CheckpointFile {
    std::string path;
    std::uint64_t size_bytes = 0;
    std::uint32_t crc32c = 0;
    /// Shards have a checksum for each block, so that part of a shard can be verified alone. The last block
    /// may be shorter.
    std::uint64_t block_size_bytes = 0;  // 0: no blocks
    std::vector<std::uint32_t> block_crc32c = {};
    std::string shared_with = {};  // UUID of the checkpoint that first wrote the file; empty: this one
    /// SHA-256 of each part of `sha256_part_size_bytes`; the last part may be shorter. Only stores that
    /// compute it anyway give it (S3 signs its requests with it).
    std::uint64_t sha256_part_size_bytes = 0;  // 0: no sums
    std::vector<std::string> part_sha256 = {};
    friend bool operator==(CheckpointFile const&, CheckpointFile const&) = default;
};

/// A slice of a tensor in one file: dense, in row-major order.
struct StoredSlice {
    std::string file;
    std::uint64_t offset_bytes = 0;  // in the file
    std::vector<std::uint64_t> begin;
    std::vector<std::uint64_t> shape;
    friend bool operator==(StoredSlice const&, StoredSlice const&) = default;
};

/// A tensor that one or several ranks have saved. Its slices cover each element once.
struct StoredTensor {
    std::string name;
    std::string dtype;  // as in safetensors: "F32"
    std::vector<std::uint64_t> shape;
    std::vector<StoredSlice> slices;
    friend bool operator==(StoredTensor const&, StoredTensor const&) = default;
};

/// The manifest of a checkpoint: its files with their checksums, and its tensors. It is written last and
/// atomically; a directory without it is not a checkpoint.
struct CheckpointManifest {
    std::string uuid;
    std::string run;  // "7.3.2"; empty outside of an experiment
    std::uint64_t steps_completed = 0;
    UtcTime time;
    int world_size = 1;
    std::vector<CheckpointFile> files;       // sorted by path
    std::vector<std::string> directories;    // sorted, including empty ones
    JsonValue metadata;                      // the user's metadata, with steps_completed
    std::vector<StoredTensor> tensors = {};  // sorted by name
    /// SHA-256 of the manifest's text as it is stored: set by Store::publish() and Store::load_manifest(). No
    /// part of the text.
    std::string sha256 = {};
    friend bool operator==(CheckpointManifest const&, CheckpointManifest const&) = default;
};

inline constexpr std::string_view manifest_name = "manifest";
inline constexpr std::string_view metadata_name = "metadata.json";

/// The file name of a rank's shard: "rank-00003.safetensors".
std::string shard_name(std::uint64_t rank);
/// The rank of a shard; nullopt for another file.
std::optional<std::uint32_t> rank_of_shard(std::string_view name);

std::string render_manifest(CheckpointManifest const& manifest);
/// \return codes::damaged if the text is no manifest, its checksum is wrong or a value is invalid;
///     codes::newer_format for a newer version
Result<CheckpointManifest> parse_manifest(std::string_view text);

/// Determined's list of resources: maps a relative path to its size in bytes. Directories have a trailing
/// slash and size 0.
Json resources_of(CheckpointManifest const& manifest);

}  // namespace det
