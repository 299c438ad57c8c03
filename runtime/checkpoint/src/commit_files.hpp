#pragma once
#include <det/checkpoint/store.hpp>

namespace det::checkpoint {

/// The chief's, when all ranks have put their files: adds metadata.json to the manifest and publishes it, or
/// leaves nothing of the checkpoint behind.
Result<CheckpointManifest> commit_files(Store& store, CheckpointManifest manifest,
                                        MayCommit const& may_commit);

/// Nothing stays of a checkpoint that could not be made: a full disk must not fill up with remains.
Error clean_up_after(Error error, Store& store, std::string const& uuid);

}  // namespace det::checkpoint
