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
    /// Of shards: each block's own checksum, so that a part can be verified without the rest. The last block
    /// may be shorter.
    std::uint64_t block_size_bytes = 0;  // 0: there are none
    std::vector<std::uint32_t> block_crc32c = {};
    std::string shared_with =
        {};  // the checkpoint that wrote the bytes first, where they were not written again
    friend bool operator==(CheckpointFile const&, CheckpointFile const&) = default;
};

/// A part of a tensor as one file has it: dense, row by row.
struct StoredSlice {
    std::string file;
    std::uint64_t offset_bytes = 0;  // in the file
    std::vector<std::uint64_t> begin;
    std::vector<std::uint64_t> shape;
    friend bool operator==(StoredSlice const&, StoredSlice const&) = default;
};

/// A tensor that ranks have saved together. Its slices cover it once.
struct StoredTensor {
    std::string name;
    std::string dtype;  // as safetensors writes it: "F32"
    std::vector<std::uint64_t> shape;
    std::vector<StoredSlice> slices;
    friend bool operator==(StoredTensor const&, StoredTensor const&) = default;
};

/// What makes a directory of shards a checkpoint: it is written last, by rename, and vouches for each file.
struct CheckpointManifest {
    std::string uuid;
    std::string run;  // "7.3.2"; empty where the trainer ran outside of any experiment
    std::uint64_t steps_completed = 0;
    UtcTime time;
    int world_size = 1;
    std::vector<CheckpointFile> files;       // sorted by path
    std::vector<std::string> directories;    // empty ones included; sorted
    JsonValue metadata;                      // the user's, with steps_completed
    std::vector<StoredTensor> tensors = {};  // sorted by name
    friend bool operator==(CheckpointManifest const&, CheckpointManifest const&) = default;
};

inline constexpr std::string_view manifest_name = "manifest";
inline constexpr std::string_view metadata_name = "metadata.json";

/// "rank-00003.safetensors": what that rank has saved of the tensors.
std::string shard_name(std::uint64_t rank);
/// Nothing where it is another file.
std::optional<std::uint32_t> rank_of_shard(std::string_view name);

std::string render_manifest(CheckpointManifest const& manifest);
Result<CheckpointManifest> parse_manifest(std::string_view text);

/// Determined's list of resources: relative path to size in bytes, directories with a trailing slash and size
/// 0.
Json resources_of(CheckpointManifest const& manifest);

}  // namespace det
