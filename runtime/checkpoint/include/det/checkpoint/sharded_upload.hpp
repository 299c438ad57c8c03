#pragma once
#include <det/checkpoint/peers.hpp>
#include <det/checkpoint/store.hpp>

#include <optional>

namespace det::checkpoint {

/// What one rank brings: a directory, of which the selected files are taken, or nothing.
struct Upload {
    std::optional<std::filesystem::path> directory;
    Selector selector = [](std::string const&) { return true; };
    Json metadata = Json::object();
};

/// Collective: one checkpoint of what all ranks bring, by the rules of upload_rules.hpp. `description` is the
/// chief's, but for its metadata, which is merged of all ranks'. The manifest comes back on the chief.
/// codes::misuse, on all ranks, where the rules say no or nobody brings anything.
Result<std::optional<CheckpointManifest>> upload_sharded(Peers& peers, Store& store, Upload const& upload,
                                                         Store::Description description,
                                                         MayCommit const& may_commit);

}  // namespace det::checkpoint
