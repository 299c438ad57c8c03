#pragma once
#include <det/foundation/result.hpp>
#include <det/protocol/checkpoint_manifest.hpp>

#include <filesystem>
#include <functional>
#include <string>

namespace det::checkpoint {

/// Checkpoints as directories of a shared file system: <root>/<uuid>/. A directory becomes a checkpoint when
/// its manifest is there, which vouches for every file; until then readers take it for absent.
class SharedFsStore {
public:
    explicit SharedFsStore(std::filesystem::path root) : root_(std::move(root)) {}

    /// An empty directory to write shards into. It is nothing yet.
    Result<std::filesystem::path> begin(std::string const& uuid);

    /// What the manifest says besides its files.
    struct Description {
        std::string uuid;
        std::string run;
        std::uint64_t steps_completed = 0;
        UtcTime time;
        int world_size = 1;
        Json metadata = Json::object();
    };
    /// Writes metadata.json, reads every file once for its checksum, syncs all, and only then, if
    /// `may_commit` still says Ok, gives the manifest its name. Links and special files are refused. After an
    /// error there is no checkpoint.
    Result<CheckpointManifest> commit(Description const& description,
                                      std::function<Status()> const& may_commit);

    /// The manifest; no_such_checkpoint where none was committed. Files are not read.
    Result<CheckpointManifest> find(std::string const& uuid) const;
    /// Reads every file against the manifest: checkpoint_damaged names the first that is not as it was.
    Result<CheckpointManifest> verify(std::string const& uuid) const;

    std::filesystem::path path_of(std::string const& uuid) const { return root_ / uuid; }

private:
    std::filesystem::path root_;
};

}  // namespace det::checkpoint
