#pragma once
#include <det/experiment_pack/pack_index.hpp>

#include <filesystem>
#include <sys/stat.h>
#include <vector>

namespace det::experiment_pack {

/// Lists what a pack of an experiment has: all files below its directory, without the pack itself, files
/// left by an interrupted `--pack` or `--unpack`, and secrets.json, which stays in the directory so that a
/// pack that is copied elsewhere has no secrets. A directory comes before what is in it; names are sorted.
/// `data`, `contents_at` and `sha256` of files are not set.
///
/// \return codes::unsafe_owner if a file belongs to another user; codes::not_a_file for fifos, sockets and
///     devices
Result<std::vector<Entry>> scan_tree(std::filesystem::path const& directory);

/// Whether what is at the path is what the entry describes, as far as lstat(2) tells: its kind, its size and
/// its time. For directories, only the kind.
bool is_unchanged(struct stat const& info, Entry const& entry);

/// The time of the last change of the contents, in nanoseconds since 1970.
std::int64_t modified_ns_of(struct stat const& info);

/// The beginning of the names of files in the experiment's directory that exist during `--pack` and
/// `--unpack`.
inline constexpr std::string_view temporary_prefix = ".pack-";

}  // namespace det::experiment_pack
