#pragma once
#include <det/foundation/result.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace det::slurm {

/// A node as a member of a partition, and what of it is in use.
struct Node {
    std::string name;
    std::string partition;
    std::string state;  // "idle", "mixed", "drained*" ...
    int cpus = 0;
    int cpus_used = 0;
    std::string gres;       // "gpu:tesla:4(S:0-1)", "(null)"
    std::string gres_used;  // "gpu:tesla:2(IDX:0-1)"

    /// Nothing runs on it, and jobs may.
    bool is_free() const;
    /// Slurm gives it no jobs: down, drained, in maintenance.
    bool is_out() const;
    /// slurmctld hears nothing from it.
    bool is_silent() const;

    friend bool operator==(Node const&, Node const&) = default;
};

/// For sinfo --Format, one line a node and partition.
std::string node_format();
/// What sinfo printed with node_format().
Result<std::vector<Node>> parse_nodes(std::string_view sinfo_output);

}  // namespace det::slurm
