#include <det/checkpoint/run_checkpoints.hpp>
#include <det/protocol/json.hpp>

#include <algorithm>
#include <map>

namespace det::checkpoint {

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
        auto manifest = store.load_manifest(uuid);
        if (!manifest) {
            auto const& code = manifest.error().code;
            if (code == codes::no_such_checkpoint || code == codes::checkpoint_damaged) continue;
            return std::move(manifest).error();
        }
        auto resources = resources_of(*manifest);
        checkpoints.push_back(
            {begun.time, uuid, begun.steps_completed, std::move(resources), std::move(manifest->metadata)});
    }
    std::ranges::stable_sort(checkpoints, {}, &CheckpointCommitted::steps_completed);
    return checkpoints;
}

}  // namespace det::checkpoint
