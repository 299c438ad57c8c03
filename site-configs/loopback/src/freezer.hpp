#pragma once
#include <det/foundation/files.hpp>

#include <string>

namespace det::loopback {

/// One group of cgroup v1's freezer hierarchy, which is all that proctrack/cgroup needs. Every process of the
/// cluster lives in it, so that two clusters with equal node names never meet, and nothing of it outlives
/// the cluster. The hierarchy is reached without mounting it anywhere.
class FreezerGroup {
public:
    /// Makes the group. Fails where cgroup v1 is not to be had: another controller set, a container ...
    static Result<FreezerGroup> make(std::string const& name);

    /// Moves the calling process, and whatever it will start, into it.
    Status enter() const;

private:
    explicit FreezerGroup(UniqueFd directory) : directory_(std::move(directory)) {}

    UniqueFd directory_;
};

/// With all groups below.
void thaw_freezer_group(std::string const& name);
/// Once its processes have ended. Absent is fine.
Status remove_freezer_group(std::string const& name);

/// The hierarchy at `directory`. Called in a cgroup namespace of our own, it begins with our group.
Status mount_freezer(std::filesystem::path const& directory);

}  // namespace det::loopback
