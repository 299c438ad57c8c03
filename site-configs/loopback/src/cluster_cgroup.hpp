#pragma once
#include <det/foundation/files.hpp>

#include <string>

namespace det::loopback {

/// The hierarchy of cgroups that Slurm uses on this machine.
enum class CgroupVersion {
    v1,  // the freezer, the only hierarchy of cgroup v1 that proctrack/cgroup needs
    v2,  // on a machine whose controllers are all in the unified hierarchy
};

/// Fails if this machine has neither, for example in a container.
Result<CgroupVersion> find_cgroup_version();

/// A group of cgroups. The init process of a cluster and all that it starts, daemons and jobs, are members,
/// so that two clusters with equal node names don't share a cgroup path. The hierarchy is opened with
/// fsmount(2); it is not mounted at a path of the host.
class ClusterGroup {
public:
    /// Creates the group unless it exists, and opens it.
    static Result<ClusterGroup> make(std::string const& name);

    /// Moves the calling process into the group, and into a cgroup namespace in which the group is the root.
    /// With cgroup v2 the process is then in `/init.scope`, as the init process of a machine with systemd:
    /// a group that gives its controllers to groups below it can't have processes.
    Status enter_as_root() const;

private:
    ClusterGroup(CgroupVersion version, UniqueFd directory)
        : version_(version), directory_(std::move(directory)) {}

    CgroupVersion version_;
    UniqueFd directory_;
};

/// Thaws the group and all groups below it.
void thaw_cluster_group(std::string const& name);
/// Removes the group and all groups below it. Their processes must have ended; the groups may stay busy for a
/// moment, for which it waits up to 5 s. Succeeds if there is no such group.
Status remove_cluster_group(std::string const& name);

/// Mounts the freezer of cgroup v1 for Slurm's CgroupMountpoint. In a cgroup namespace, its root is the group
/// of the process that made the namespace.
Status mount_freezer(std::filesystem::path const& directory);
/// The same for cgroup v2, at /sys/fs/cgroup, where programs expect it too.
Status mount_unified_hierarchy();

}  // namespace det::loopback
