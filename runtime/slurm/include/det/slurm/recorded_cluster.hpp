#pragma once
#include <det/foundation/result.hpp>
#include <det/slurm/accounting.hpp>
#include <det/slurm/cluster_config.hpp>
#include <det/slurm/partition.hpp>

#include <optional>
#include <string_view>
#include <vector>

namespace det::slurm {

/// What Slurm's commands have printed on a cluster.
struct RecordedCluster {
    ClusterConfig config;
    std::vector<Partition> partitions;
    std::optional<Accounting> accounting;  // if sacctmgr is among the commands
};

/// Parses a file of commands and their output. A line "$ COMMAND" begins the output of each: `scontrol show
/// config`, `scontrol show partition --oneliner`, `sinfo` with node_group_format(), and `sacctmgr show` of
/// associations, qos and user with their formats. Other commands are skipped. codes::slurm_output if the
/// partitions are missing or a line can't be read. Pure.
Result<RecordedCluster> parse_recorded_cluster(std::string_view text);

}  // namespace det::slurm
