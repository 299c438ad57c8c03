#pragma once
#include <det/foundation/error.hpp>
#include <det/protocol/checkpoint_manifest.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace det::checkpoint {

/// How a save ended.
struct SaveOutcome {
    std::string uuid;
    std::uint64_t steps_completed = 0;
    std::optional<Error> error;                  ///< empty: the checkpoint is committed
    std::optional<CheckpointManifest> manifest;  ///< on the chief, if the checkpoint is committed
};

/// A save that has begun. The program may change its state again. The save becomes a checkpoint, or fails,
/// later.
struct SaveStarted {
    std::string uuid;                    ///< of the future checkpoint
    std::chrono::microseconds waited{};  ///< how long save() waited for an earlier save to end
    std::chrono::microseconds copied{};  ///< how long the copy took
    std::vector<SaveOutcome> ended;      ///< earlier saves that have ended since the last call
};

}  // namespace det::checkpoint
