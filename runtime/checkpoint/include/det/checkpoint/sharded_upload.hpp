#pragma once
#include <det/checkpoint/peers.hpp>
#include <det/checkpoint/store.hpp>

#include <optional>

namespace det::checkpoint {

/// What one rank brings to an upload.
struct Upload {
    std::optional<std::filesystem::path> directory;  ///< empty: no files
    Selector selector = nullptr;                     ///< which files to take; null: all
    JsonValue metadata = {};                         ///< a JSON object; that of all ranks is merged
    std::optional<Error> trouble = {};  ///< why this rank could not write its files: an error on all ranks
};

/// Makes one checkpoint of files from all ranks. Collective. Blocks until everything is on disk.
///
/// Several ranks may bring the same file. If ranks bring the same directory of a node without a selector, the
/// lowest of them uploads it. Files that already lie in the directory of Store::open() are not copied.
/// \param description the uuid is the same on all ranks; all else is the chief's. Its metadata is not used
/// \return the manifest on the chief, empty on other ranks. codes::misuse, on all ranks, if ranks bring
/// different
///   files of one name or metadata that contradicts, or if no rank brings a directory. After an error nothing
///   is left of the checkpoint
Result<std::optional<CheckpointManifest>> upload_sharded(Peers& peers, Store& store, Upload const& upload,
                                                         Store::Description const& description,
                                                         MayCommit const& may_commit);

}  // namespace det::checkpoint
