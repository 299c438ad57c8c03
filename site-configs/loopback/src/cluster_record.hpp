#pragma once
#include <det/foundation/result.hpp>

#include <optional>
#include <string>
#include <string_view>

#include "cluster_options.hpp"
#include "cluster_paths.hpp"
#include "process_handle.hpp"

namespace det::loopback {

/// The content of the file run/init. The init process writes it; the commands find the running cluster by it.
struct ClusterRecord {
    ProcessIdentity init;
    int nodes = 0;
    int slots = 0;
    Proctrack proctrack = Proctrack::linuxproc;
    std::string slurm;  // "24.11.5 (Debian trixie)"
    std::string profile;

    friend bool operator==(ClusterRecord const&, ClusterRecord const&) = default;
};

std::string render_cluster_record(ClusterRecord const& record);
std::optional<ClusterRecord> parse_cluster_record(std::string_view text);

Status write_cluster_record(ClusterPaths const& paths, ClusterRecord const& record);

struct RunningCluster {
    ClusterRecord record;
    ProcessHandle init;
};

/// Returns nullopt if there is no such cluster, if its init process has ended, or if its record is damaged.
Result<std::optional<RunningCluster>> find_running(ClusterPaths const& paths);
Status require_root_user();
/// Fails with codes::no_such_cluster if find_running() finds none.
Result<RunningCluster> require_running(ClusterPaths const& paths);

}  // namespace det::loopback
