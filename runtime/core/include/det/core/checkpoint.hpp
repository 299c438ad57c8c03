#pragma once
#include <det/foundation/result.hpp>
#include <det/protocol/checkpoint_manifest.hpp>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace det::core {

struct Session;

/// Saved state of the trial.
class Checkpoint {
public:
    explicit Checkpoint(Session& session) : session_(session) {}

    using Write = std::function<Status(std::filesystem::path const& directory)>;

    /// Chief only: `write` fills an empty directory; when it has returned Ok everything is synced and
    /// committed, and the UUID by which it is found again comes back. After an error there is no checkpoint.
    Result<std::string> store(std::uint64_t steps_completed, nlohmann::json metadata, Write const& write);

    /// The newest checkpoint of this trial, from which it is to go on; nothing at its first start.
    std::optional<std::string> latest() const;
    /// Its directory, once every file was found as its manifest says. For reading only.
    Result<std::filesystem::path> restore_path(std::string const& uuid) const;
    Result<CheckpointManifest> manifest(std::string const& uuid) const;

private:
    Session& session_;
};

}  // namespace det::core
