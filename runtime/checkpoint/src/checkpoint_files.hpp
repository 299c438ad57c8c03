#pragma once
#include <det/checkpoint/store.hpp>

namespace det::checkpoint {

/// Reads a file once.
/// \return the file's path, size and checksum
Result<CheckpointFile> sum_file(std::filesystem::path const& root, std::string const& relative,
                                ReadFrom from = ReadFrom::disk);

/// Syncs a file and then does the same as sum_file(). Fails for a symbolic link.
Result<CheckpointFile> sync_and_sum(std::filesystem::path const& root, std::string const& relative);

/// Compares a file with its entry in a manifest.
/// \return codes::checkpoint_damaged says what differs, without naming the checkpoint
Status check_file(std::filesystem::path const& root, CheckpointFile const& expected, ReadFrom from);

/// Writes metadata.json, as Determined writes it beside the user's files, and syncs it.
Result<CheckpointFile> write_metadata(std::filesystem::path const& directory, Json const& metadata);

/// Checks the metadata of a checkpoint.
/// \return codes::misuse if it is not a JSON object
Status check_metadata(Json const& metadata);

/// Called by the chief when all ranks have put their files: writes metadata.json, adds it to the manifest and
/// publishes the manifest. After an error the files of the checkpoint are removed.
Result<CheckpointManifest> commit_files(Store& store, CheckpointManifest manifest,
                                        MayCommit const& may_commit);

/// Removes the files of a checkpoint that failed, so that failed saves do not fill the disk.
/// \return the error, with a note if the files could not be removed
Error clean_up_after(Error error, Store& store, std::string const& uuid);

}  // namespace det::checkpoint
