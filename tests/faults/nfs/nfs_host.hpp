#pragma once
#include <det/foundation/files.hpp>

#include <memory>
#include <string>
#include <vector>

namespace det::faults {

/// The NFS client of one host: a running faults-nfs-client.
class NfsHost {
public:
    /// Returns why none can be started here (not root, no /dev/fuse), or "".
    static std::string find_obstacle();
    /// Starts the program and waits until it has mounted.
    /// \param argv the program with its arguments; words before it may enter another host
    static Result<std::unique_ptr<NfsHost>> start(std::vector<std::string> const& argv);
    /// Lets the program write everything to the server and unmount.
    ~NfsHost();
    NfsHost(NfsHost const&) = delete;
    NfsHost& operator=(NfsHost const&) = delete;

    /// Loses replies of the server. `then`: nothing, repeat, error. Returns how many were lost so far.
    Result<std::uint64_t> lose_replies(std::string const& then, unsigned percent, std::uint32_t seed) const;
    /// A power cut: what is not on the server is dropped, and processes that use the mount wait until the
    /// program ends. Returns the number of bytes that were dropped.
    Result<std::uint64_t> cut_power() const;

private:
    NfsHost(pid_t pid, UniqueFd commands, UniqueFd answers)
        : pid_(pid), commands_(std::move(commands)), answers_(std::move(answers)) {}
    Result<std::string> read_line() const;
    Result<std::uint64_t> send(std::string const& command) const;

    pid_t pid_;
    UniqueFd commands_, answers_;
};

}  // namespace det::faults
