#pragma once
#include <det/checkpoint/peers.hpp>
#include <det/checkpoint/store.hpp>

#include <optional>

namespace det::checkpoint {

/// What one rank brings: a directory, of which the selected files are taken, or nothing.
struct Upload {
    std::optional<std::filesystem::path> directory;
    Selector selector = nullptr;  // null: all
    Json metadata = Json::object();
    std::optional<Error> trouble = {};  // why it brings nothing: an error on all ranks
};

/// Collective: one checkpoint of what all ranks bring, by the rules of upload_rules.hpp. Of ranks that bring
/// the same directory of a node without a selector the lowest counts. What lies in the directory that
/// store.open() gives is not copied. `description` is the chief's, but for its metadata, which is merged of
/// all ranks'. The manifest comes back on the chief. codes::misuse, on all ranks, where the rules say no or
/// nobody brings anything; after an error nothing is left of it.
Result<std::optional<CheckpointManifest>> upload_sharded(Peers& peers, Store& store, Upload const& upload,
                                                         Store::Description description,
                                                         MayCommit const& may_commit);

}  // namespace det::checkpoint
