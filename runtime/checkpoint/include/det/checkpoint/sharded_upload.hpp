#pragma once
#include <det/checkpoint/peers.hpp>
#include <det/checkpoint/store.hpp>

#include <optional>

namespace det::checkpoint {

/// What one rank brings to an upload.
struct Upload {
    std::optional<std::filesystem::path> directory;  ///< empty: no files
    Selector selector = nullptr;                     ///< which files to take; null: all
    JsonValue metadata = {};                         ///< a JSON object; the objects of all ranks are merged
    std::optional<Error> trouble = {};  ///< why this rank could not write its files: an error on all ranks
};

/// Makes one checkpoint of files from all ranks. Collective. Blocks until the checkpoint is committed.
///
/// Several ranks may bring the same file. If ranks of a node bring the same directory, all without a
/// selector, the lowest of these ranks uploads it. Files that are already in the directory of
/// Store::create_directory() are not copied. A file metadata.json at the top of a directory is not uploaded:
/// the commit writes it.
///
/// \param description the uuid must be the same on all ranks; the other values are the chief's. Its metadata
///     is not used
/// \return the manifest on the chief, empty on other ranks. codes::misuse, on all ranks, if ranks bring
///     different files with the same name or contradicting metadata, or if no rank brings a directory. After
///     an error the files of the checkpoint are removed
Result<std::optional<CheckpointManifest>> upload_sharded(Peers& peers, Store& store, Upload const& upload,
                                                         Store::Description const& description,
                                                         MayCommit const& may_commit);

}  // namespace det::checkpoint
