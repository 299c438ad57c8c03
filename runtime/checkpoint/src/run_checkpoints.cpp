#include <det/checkpoint/run_checkpoints.hpp>
#include <det/protocol/json.hpp>

#include <algorithm>
#include <map>
#include <optional>

namespace det::checkpoint {
namespace {

/// The manifest of a checkpoint; empty if there is none or it must not be used.
Result<std::optional<CheckpointManifest>> find_manifest(std::string const& uuid, Store const& store) {
    auto manifest = store.load_manifest(uuid);
    if (manifest) return std::optional(*std::move(manifest));
    if (manifest.error().code == codes::no_such_checkpoint || is_unusable(manifest.error()))
        return std::optional<CheckpointManifest>();
    return std::move(manifest).error();
}

}  // namespace

Result<std::vector<CheckpointCommitted>> checkpoints_of_run(std::span<Record const> journal,
                                                            Store const& store) {
    std::vector<CheckpointCommitted> checkpoints;
    std::map<std::string, CheckpointBegun> uncommitted;
    for (auto const& record : journal) {
        if (auto const* begun = std::get_if<CheckpointBegun>(&record))
            uncommitted.emplace(begun->uuid, *begun);
        if (auto const* committed = std::get_if<CheckpointCommitted>(&record)) {
            uncommitted.erase(committed->uuid);
            checkpoints.push_back(*committed);
        }
    }
    for (auto const& [uuid, begun] : uncommitted) {
        DET_TRY_ASSIGN(auto manifest, find_manifest(uuid, store));
        if (!manifest) continue;
        auto resources = resources_of(*manifest);
        checkpoints.push_back({begun.time,
                               uuid,
                               begun.steps_completed,
                               std::move(resources),
                               std::move(manifest->metadata),
                               {},
                               manifest->sha256});
    }
    std::ranges::stable_sort(checkpoints, {}, &CheckpointCommitted::steps_completed);
    return checkpoints;
}

Result<std::vector<CheckpointCommitted>> stored_checkpoints_of_run(std::string const& run,
                                                                   Store const& store) {
    std::vector<CheckpointCommitted> checkpoints;
    DET_TRY_ASSIGN(auto const uuids, store.list());
    for (auto const& uuid : uuids) {
        DET_TRY_ASSIGN(auto manifest, find_manifest(uuid, store));
        if (!manifest || manifest->run != run) continue;
        auto resources = resources_of(*manifest);
        checkpoints.push_back({manifest->time,
                               uuid,
                               manifest->steps_completed,
                               std::move(resources),
                               std::move(manifest->metadata),
                               {},
                               manifest->sha256});
    }
    std::ranges::stable_sort(checkpoints, {}, &CheckpointCommitted::steps_completed);
    return checkpoints;
}

}  // namespace det::checkpoint
