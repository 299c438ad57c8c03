#pragma once
#include <det/checkpoint/store.hpp>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "upload_plan.hpp"

namespace det::checkpoint {

// Files that a program brings in a directory of its own, on their way into a checkpoint.

/// Lists the selected files and directories, without digests. The paths of directories end with "/". Omits
/// metadata.json, which the commit writes itself.
/// \param selector null: everything
/// \return codes::bad_value if a name is not UTF-8, because a manifest cannot contain it
Result<Uploads> list_sources(std::filesystem::path const& directory, Selector const& selector);

/// Computes the SHA-256 of a file.
Result<std::string> digest_of(std::filesystem::path const& path);

/// Copies files and directories into another directory, where they replace what an earlier attempt has left.
/// Repeats the writes while the disk can't take them.
Status copy_sources(std::filesystem::path const& from, std::vector<std::string> const& paths,
                    std::filesystem::path const& to, WriteRetry const& retry);

/// Syncs the files that are in the checkpoint's directory `target`, computes their checksums, and puts them
/// into the store.
/// \param copied_from where copy_sources() took the files from, to copy a file again of which the sync fails;
///     nullopt if the program has written the files into `target` itself
Result<std::vector<CheckpointFile>> put_sources(Store& store, std::string const& uuid,
                                                std::filesystem::path const& target,
                                                std::vector<std::string> const& paths,
                                                std::optional<std::filesystem::path> const& copied_from);

/// The directories of these paths and those above them, sorted, for a manifest.
std::vector<std::string> directories_of(std::vector<std::string> const& paths);

/// Adds everything in `directory` to the files of a checkpoint and to its manifest. One process calls it.
/// \return codes::bad_value for a name that is not UTF-8; codes::file_system if the checkpoint has a file of
///     that name already
Status add_directory(Store& store, std::filesystem::path const& directory, CheckpointManifest& manifest);

}  // namespace det::checkpoint
