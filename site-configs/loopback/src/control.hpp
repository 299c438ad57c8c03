#pragma once
#include <det/foundation/files.hpp>

#include <functional>
#include <string>
#include <string_view>

#include "cluster_paths.hpp"

// The keeper's door: a Unix socket that only root may open. One message asks, one answers:
//
//     status                    ok, then a line "NAME PID STATE RESTARTS" for each daemon
//     namespaces NODE           ok, then the keeper's descriptors of them: HostNamespaces::held_by
//     kill DAEMON               KILL, and it stays away until 'start'
//     start DAEMON
//     cut NODE | heal NODE      its network
//     off NODE | on NODE        as if by the power switch
//
// An answer begins with "ok\n" or "error ".
namespace det::loopback {

class ControlServer {
public:
    static Result<ControlServer> listen(ClusterPaths const& paths);

    int fd() const { return fd_.get(); }
    /// One request of one caller.
    void serve(std::function<Result<std::string>(std::string_view)> const& handle) const;

private:
    explicit ControlServer(UniqueFd fd) : fd_(std::move(fd)) {}

    UniqueFd fd_;
};

/// What stands after "ok\n"; the keeper's error as an error.
Result<std::string> ask_keeper(ClusterPaths const& paths, std::string_view request);

}  // namespace det::loopback
