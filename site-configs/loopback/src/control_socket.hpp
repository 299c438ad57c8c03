#pragma once
#include <det/foundation/files.hpp>

#include <functional>
#include <string>
#include <string_view>

#include "cluster_paths.hpp"

// The control socket of the init process: a Unix socket that only root can open. A client sends one request
// and receives one reply.
//
//     status                    reply: one line "NAME PID STATE RESTARTS" per daemon
//     namespaces NODE           reply: the result of HostNamespaces::descriptors()
//     kill DAEMON               kills it with SIGKILL; it stays down until 'start'
//     start DAEMON
//     cut NODE | heal NODE      takes its network down, or up again
//     off NODE | on NODE        takes its network down and kills all of its processes; or takes its
//                               network up and starts its slurmd
//
// A reply begins with "ok\n" or "error ".
namespace det::loopback {

class ControlServer {
public:
    static Result<ControlServer> listen(ClusterPaths const& paths);

    int fd() const { return fd_.get(); }
    /// Accepts one client and answers its request. Waits at most 1 s each for the request and for the client
    /// to take the reply.
    void serve(std::function<Result<std::string>(std::string_view)> const& handle) const;

private:
    explicit ControlServer(UniqueFd fd) : fd_(std::move(fd)) {}

    UniqueFd fd_;
};

/// Sends a request to the init process. Returns the reply after "ok\n", or the error that it replied. Waits
/// at most 20 s each for the connection, for the sending and for the reply.
Result<std::string> send_request(ClusterPaths const& paths, std::string_view request);

}  // namespace det::loopback
