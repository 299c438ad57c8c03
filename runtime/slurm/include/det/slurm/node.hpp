#pragma once
#include <det/foundation/result.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace det::slurm {

/// A node as a member of a partition, and how much of it is in use.
struct Node {
    std::string name;
    std::string partition;
    std::string state;  // with all flags: "idle", "mixed+drain", "down+not_responding" ...
    int cpus = 0;
    int cpus_used = 0;
    std::string gres;       // "gpu:tesla:4(S:0-1)", "(null)"
    std::string gres_used;  // "gpu:tesla:2(IDX:0-1)"
    std::string reason =
        {};  // why it is down or drained, as an administrator or Slurm wrote it; may be empty

    /// Whether no job runs on the node and it accepts jobs.
    bool is_free() const;
    /// Whether the node accepts no jobs: down, drained, in maintenance.
    bool is_unavailable() const;
    /// Whether the node does not respond to slurmctld.
    bool is_unresponsive() const;

    friend bool operator==(Node const&, Node const&) = default;
};

/// The argument of sinfo --Format: one line per node and partition.
std::string node_format();
/// Parses the output of sinfo with node_format().
Result<std::vector<Node>> parse_nodes(std::string_view sinfo_output);

}  // namespace det::slurm
