#pragma once
#include <det/checkpoint/saver.hpp>

#include <future>

#include "shard_write.hpp"
#include "write_plan.hpp"

namespace det::checkpoint {

/// A save that has begun and not ended, as one rank sees it.
struct SaveInFlight {
    std::string uuid;
    Saver::About about;
    std::shared_ptr<WritePlan const> plan;
    std::shared_ptr<ShardWrite> write = nullptr;            // null: nothing to write, or it could not begin
    std::optional<Error> error = {};                        // why it could not begin
    std::future<Result<CheckpointManifest>> manifest = {};  // the chief's, once it was handed in

    bool is_written() const { return !write || write->is_done(); }
    bool is_committed() const {
        return manifest.valid() && manifest.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
    }
    /// The file of this rank, if it has one, once it is written.
    Result<std::vector<CheckpointFile>> written() const {
        if (error) return *error;
        if (!write) return std::vector<CheckpointFile>();
        DET_TRY_ASSIGN(auto file, write->result());
        return std::vector{std::move(file)};
    }
    /// What says that it is a checkpoint, with the files of all ranks.
    CheckpointManifest make_manifest(int world_size, std::vector<CheckpointFile> files) const {
        return {uuid, about.run,      about.steps_completed, about.time, world_size, std::move(files),
                {},   about.metadata, plan->tensors};
    }
};

}  // namespace det::checkpoint
