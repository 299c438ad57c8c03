#pragma once
#include <det/foundation/files.hpp>

#include <array>
#include <string>
#include <string_view>
#include <sys/types.h>

namespace det::loopback {

/// What makes one process of ours one host: network, mounts, host name and IPC objects. Open descriptors
/// keep the namespaces alive though no process may live in them.
class HostNamespaces {
public:
    static Result<HostNamespaces> of_process(pid_t pid);
    /// Those that the process holds open in these descriptors.
    static Result<HostNamespaces> held_by(pid_t pid, std::string_view descriptors);
    /// The calling process moves into fresh ones, copies of where it is.
    static Result<HostNamespaces> make_and_enter();

    Status enter() const;
    UniqueFd const& network() const { return fds_[0]; }
    /// For held_by.
    std::string descriptors() const;

private:
    static Result<HostNamespaces> below(std::string const& process);

    std::array<UniqueFd, 4> fds_;
};

/// The caller is on another host for as long as this lives.
class Visit {
public:
    Visit(HostNamespaces const& there, HostNamespaces const& home);
    ~Visit();
    Visit(Visit const&) = delete;
    Visit& operator=(Visit const&) = delete;

    Status const& arrived() const { return arrived_; }

private:
    HostNamespaces const& home_;
    Status arrived_;
};

Status set_host_name(std::string_view name);

}  // namespace det::loopback
