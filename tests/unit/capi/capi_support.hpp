#pragma once
#include "../core/core_support.hpp"

namespace det {

/// A run on one node, and what its ranks find in their environment.
struct NodeRunFixture : core::RunFixture {
    Environment environment_of(int rank, int ranks) const {
        Environment own = environment;
        for (auto const* name : {"RANK", "LOCAL_RANK"}) own.set(name, std::to_string(rank));
        for (auto const* name : {"WORLD_SIZE", "LOCAL_WORLD_SIZE"}) own.set(name, std::to_string(ranks));
        own.set("GROUP_RANK", "0");
        own.set("GROUP_WORLD_SIZE", "1");
        return own;
    }
    /// Sets the checkpoint from which the trial continues; nullopt: it starts from the beginning.
    void set_latest_checkpoint(std::optional<std::string> uuid) const {
        ClusterInfo cluster;
        cluster.allocation_id = "7.3.2";
        cluster.latest_checkpoint = std::move(uuid);
        must(write_file(info / info_files::cluster, render_cluster_info(cluster)));
    }
};

}  // namespace det
