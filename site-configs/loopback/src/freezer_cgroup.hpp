#pragma once
#include <det/foundation/files.hpp>

#include <string>

namespace det::loopback {

/// A group in the freezer hierarchy of cgroup v1, the only hierarchy that proctrack/cgroup needs. The
/// init process of a cluster and all that it starts, daemons and jobs, are members, so that two clusters with
/// equal node names don't share a cgroup path. The hierarchy is opened with fsmount(2); it is not mounted at
/// a path of the host.
class FreezerGroup {
public:
    /// Creates the group unless it exists, and opens it. Fails if cgroup v1's freezer is not available, for
    /// example in a container.
    static Result<FreezerGroup> make(std::string const& name);

    /// Moves the calling process into the group. Its future children start there.
    Status enter() const;

private:
    explicit FreezerGroup(UniqueFd directory) : directory_(std::move(directory)) {}

    UniqueFd directory_;
};

/// Thaws the group and all groups below it.
void thaw_freezer_group(std::string const& name);
/// Removes the group and all groups below it. Their processes must have ended; the groups may stay busy for a
/// moment, for which it waits up to 5 s. Succeeds if there is no such group.
Status remove_freezer_group(std::string const& name);

/// Mounts the hierarchy at `directory`. In a cgroup namespace, its root is the group of the process that made
/// the namespace.
Status mount_freezer(std::filesystem::path const& directory);

}  // namespace det::loopback
