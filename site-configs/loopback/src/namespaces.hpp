#pragma once
#include <det/foundation/files.hpp>

#include <array>
#include <string>
#include <string_view>
#include <sys/types.h>

namespace det::loopback {

/// The namespaces that make up one host: network, mounts, host name and IPC. Open descriptors keep the
/// namespaces alive even if no process is in them.
class HostNamespaces {
public:
    /// The namespaces in which process `pid` runs.
    static Result<HostNamespaces> of_process(pid_t pid);
    /// The namespaces that process `pid` holds open. `descriptors` is the text that descriptors() returned
    /// there.
    static Result<HostNamespaces> held_by(pid_t pid, std::string_view descriptors);
    /// Moves the calling process into new namespaces.
    static Result<HostNamespaces> make_and_enter();

    Status enter() const;
    UniqueFd const& network() const { return fds_[0]; }
    /// The numbers of the open descriptors, as held_by() takes them.
    std::string descriptors() const;

private:
    static Result<HostNamespaces> open(std::string const& proc_directory);

    std::array<UniqueFd, 4> fds_;
};

/// Moves the calling process to another host; the destructor moves it back.
class ScopedHost {
public:
    ScopedHost(HostNamespaces const& host, HostNamespaces const& original);
    ~ScopedHost();
    ScopedHost(ScopedHost const&) = delete;
    ScopedHost& operator=(ScopedHost const&) = delete;

    /// Whether the move succeeded.
    Status const& entered() const { return entered_; }

private:
    HostNamespaces const& original_;
    Status entered_;
};

Status set_host_name(std::string_view name);

}  // namespace det::loopback
