#pragma once
#include <det/foundation/result.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cluster_options.hpp"
#include "cluster_paths.hpp"
#include "process_identity.hpp"

namespace det::loopback {

/// What the keeper leaves in run/keeper, for the commands that come later.
struct KeeperRecord {
    ProcessIdentity keeper;
    int nodes = 0;
    int slots = 0;
    Proctrack proctrack = Proctrack::linuxproc;

    friend bool operator==(KeeperRecord const&, KeeperRecord const&) = default;
};

std::string render_keeper_record(KeeperRecord const& record);
std::optional<KeeperRecord> parse_keeper_record(std::string_view text);

Status write_keeper_record(ClusterPaths const& paths, KeeperRecord const& record);

/// A cluster that is up.
struct RunningCluster {
    KeeperRecord record;
    ProcessHandle keeper;
};

/// Nothing where there is no such cluster, or only what a dead one left.
Result<std::optional<RunningCluster>> find_running(ClusterPaths const& paths);
/// The same as an error.
Result<RunningCluster> require_running(ClusterPaths const& paths);

std::string_view to_string(Proctrack proctrack);
std::optional<Proctrack> parse_proctrack(std::string_view text);

}  // namespace det::loopback
