#pragma once
#include <det/checkpoint/store.hpp>

namespace det::checkpoint {

/// Reads a file once.
/// \return its size and its checksum
Result<CheckpointFile> sum_file(std::filesystem::path const& root, std::string const& relative,
                                ReadFrom from = ReadFrom::disk);

/// The same after fsync. A symbolic link is refused.
Result<CheckpointFile> sync_and_sum(std::filesystem::path const& root, std::string const& relative);

/// Compares a file with its entry in a manifest.
/// \return codes::checkpoint_damaged says what differs, without naming the checkpoint
Status check_file(std::filesystem::path const& root, CheckpointFile const& expected, ReadFrom from);

/// Writes metadata.json, as Determined writes it beside the user's files, and syncs it.
Result<CheckpointFile> write_metadata(std::filesystem::path const& directory, Json const& metadata);

/// \return codes::misuse if it is not a JSON object
Status check_metadata(Json const& metadata);

/// Called by the chief when all ranks have put their files: adds metadata.json to the manifest and publishes
/// it. After an error nothing is left of the checkpoint.
Result<CheckpointManifest> commit_files(Store& store, CheckpointManifest manifest,
                                        MayCommit const& may_commit);

/// Removes the files of a checkpoint that failed, so that failed saves do not fill the disk.
/// \return the error, with a note if the files could not be removed
Error clean_up_after(Error error, Store& store, std::string const& uuid);

}  // namespace det::checkpoint
