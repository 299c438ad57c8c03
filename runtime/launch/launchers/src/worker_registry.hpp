#pragma once
#include <det/launch/launchers/launch_outcome.hpp>
#include <det/launch/launchers/messages.hpp>

#include <list>
#include <poll.h>
#include <vector>

namespace det::launch::launchers {

/// The workers of a launch that are connected.
class WorkerRegistry {
public:
    static Result<WorkerRegistry> open(std::filesystem::path const& path);
    WorkerRegistry(WorkerRegistry&&) = default;
    WorkerRegistry& operator=(WorkerRegistry&&) = delete;
    ~WorkerRegistry();

    std::filesystem::path const& path() const { return path_; }
    void add_to(std::vector<pollfd>& polled) const;
    /// Accepts new workers and reads messages and disconnections into `facts`.
    void process_messages(LaunchFacts& facts);
    /// Number of connected workers, without commands on other nodes.
    int connected() const;
    /// Closes all connections: the workers kill what they started.
    void disconnect_all() { members_.clear(); }

private:
    struct Member {
        UniqueFd socket;
        WorkerHello hello;
        bool has_exited = false;
    };
    WorkerRegistry(std::filesystem::path path, UniqueFd listening)
        : path_(std::move(path)), listening_(std::move(listening)) {}
    void accept_workers();
    /// False when it has disconnected.
    static bool receive(Member& member, LaunchFacts& facts);
    static void on_disconnect(Member const& member, LaunchFacts& facts);

    std::filesystem::path path_;
    UniqueFd listening_;
    std::list<Member> members_;
};

}  // namespace det::launch::launchers
