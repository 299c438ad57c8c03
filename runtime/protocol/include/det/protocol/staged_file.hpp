#pragma once
#include <det/protocol/json_value.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace det {

namespace variables {
/// The directory of the files of slurm.stage on a node. The supervisor sets it to the job, as "123_4"; the
/// wrapper replaces that by the path on its node.
inline constexpr char stage[] = "DET_STAGE";
}  // namespace variables

/// A file of slurm.stage, which is brought to the disk of each node of a run. spec.json has it in slurm.stage
/// of its configuration, as it was when the experiment was submitted.
struct StagedFile {
    std::string path;  // absolute, on the shared file system
    std::uint64_t size_bytes = 0;
    std::string sha256;
    friend bool operator==(StagedFile const&, StagedFile const&) = default;
};

/// The files of slurm.stage in the configuration of a spec.json. Items without a hash, which only a
/// configuration of a user has, are left out. Pure.
std::vector<StagedFile> staged_files(JsonValue const& config);
/// Writes the files into slurm.stage of a configuration. Pure.
void set_staged_files(JsonValue& config, std::vector<StagedFile> const& files);
/// slurm.stage_limit in bytes; nullopt: half of the node's local disk. Pure.
std::optional<std::uint64_t> stage_limit(JsonValue const& config);

/// Whether the file is unpacked on the nodes: .tar, .tar.gz, .tgz, .tar.zst. Pure.
bool is_staged_archive(std::string_view path);
/// The name below DET_STAGE: that of the file, of an archive without its suffix. Pure.
std::string staged_name(std::string_view path);

}  // namespace det
