#include <det/core/checkpoint.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>
#include <det/foundation/uuid.hpp>

#include <fmt/format.h>

#include "session.hpp"

namespace det::core {
namespace {

/// A trial that was cut off while another incarnation of its job goes on must not commit: that one has begun
/// a higher run.
Status still_ours(Session const& session) {
    if (!session.in_experiment()) return Ok{};
    DET_TRY_ASSIGN(auto const runs, list_directory(session.info->run_path.parent_path()));
    for (auto const& name : runs) {
        auto const number = parse_integer<std::uint32_t>(name);
        if (number && *number > session.info->trial->trial_run_id) {
            return Error{codes::superseded, fmt::format("run {} of this trial has begun elsewhere", *number)};
        }
    }
    return Ok{};
}

}  // namespace

Result<std::string> Checkpoint::store(std::uint64_t steps_completed, nlohmann::json metadata,
                                      Write const& write) {
    DET_TRY(require_chief(session_, "checkpoint.store"));
    if (!metadata.is_object()) return Error{codes::misuse, "a checkpoint's metadata is a map"};
    metadata["steps_completed"] = steps_completed;
    auto const uuid = make_uuid();
    DET_TRY_ASSIGN(auto const directory, session_.store.begin(uuid));
    DET_TRY(write(directory));
    auto const run = session_.in_experiment() ? session_.info->cluster.allocation_id : "";
    DET_TRY_ASSIGN(auto const manifest,
                   session_.store.commit({uuid, run, steps_completed, session_.clock.now(),
                                          session_.distributed.size(), metadata},
                                         [this] { return still_ours(session_); }));
    if (session_.journal) {
        DET_TRY(session_.journal->append(CheckpointCommitted{manifest.time, uuid, steps_completed,
                                                             resources_of(manifest), manifest.metadata},
                                         Durability::power_loss));
    }
    return uuid;
}

std::optional<std::string> Checkpoint::latest() const {
    return session_.info ? session_.info->cluster.latest_checkpoint : std::nullopt;
}

Result<std::filesystem::path> Checkpoint::restore_path(std::string const& uuid) const {
    DET_TRY(session_.store.verify(uuid));
    return session_.store.path_of(uuid);
}

Result<CheckpointManifest> Checkpoint::manifest(std::string const& uuid) const {
    return session_.store.find(uuid);
}

}  // namespace det::core
