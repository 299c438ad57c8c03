#pragma once
#include <det/foundation/clock.hpp>
#include <det/protocol/document.hpp>
#include <det/protocol/ids.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace det {

/// A file of a checkpoint, relative to the checkpoint's directory.
struct CheckpointFile {
    std::string path;
    std::uint64_t size_bytes = 0;
    std::uint32_t crc32c = 0;
    friend bool operator==(CheckpointFile const&, CheckpointFile const&) = default;
};

/// What makes a directory of shards a checkpoint: it is written last, by rename, and vouches for each file.
struct CheckpointManifest {
    std::string uuid;
    std::string run;  // "7.3.2"; empty where the trainer ran outside of any experiment
    std::uint64_t steps_completed = 0;
    UtcTime time;
    int world_size = 1;
    std::vector<CheckpointFile> files;     // sorted by path
    std::vector<std::string> directories;  // empty ones included; sorted
    Json metadata = Json::object();        // the user's, with steps_completed
    friend bool operator==(CheckpointManifest const&, CheckpointManifest const&) = default;
};

inline constexpr std::string_view manifest_name = "manifest";
inline constexpr std::string_view metadata_name = "metadata.json";

std::string render_manifest(CheckpointManifest const& manifest);
Result<CheckpointManifest> parse_manifest(std::string_view text);

/// Determined's list of resources: relative path to size in bytes, directories with a trailing slash and size
/// 0.
Json resources_of(CheckpointManifest const& manifest);

}  // namespace det
