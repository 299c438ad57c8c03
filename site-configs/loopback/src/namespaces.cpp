#include "namespaces.hpp"

#include <det/foundation/text.hpp>

#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>

namespace det::loopback {
namespace {

struct Kind {
    char const* file;
    int flag;
};

constexpr std::array<Kind, 4> kinds{Kind{"net", CLONE_NEWNET}, Kind{"mnt", CLONE_NEWNS},
                                    Kind{"uts", CLONE_NEWUTS}, Kind{"ipc", CLONE_NEWIPC}};

Result<UniqueFd> open_namespace(std::string const& path) {
    UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd) return os_error(fmt::format("open '{}'", path), errno);
    return fd;
}

}  // namespace

Result<HostNamespaces> HostNamespaces::of_process(pid_t pid) { return open(fmt::format("/proc/{}", pid)); }

Result<HostNamespaces> HostNamespaces::open(std::string const& proc_directory) {
    HostNamespaces namespaces;
    for (std::size_t i = 0; i < kinds.size(); ++i) {
        DET_TRY_ASSIGN(namespaces.fds_[i],
                       open_namespace(fmt::format("{}/ns/{}", proc_directory, kinds[i].file)));
    }
    return namespaces;
}

Result<HostNamespaces> HostNamespaces::held_by(pid_t pid, std::string_view descriptors) {
    auto const numbers = split(descriptors, ' ');
    if (numbers.size() != kinds.size()) return Error{codes::internal, "a host has four namespaces"};
    HostNamespaces namespaces;
    for (std::size_t i = 0; i < kinds.size(); ++i) {
        DET_TRY_ASSIGN(namespaces.fds_[i], open_namespace(fmt::format("/proc/{}/fd/{}", pid, numbers[i])));
    }
    return namespaces;
}

std::string HostNamespaces::descriptors() const {
    return fmt::format("{} {} {} {}", fds_[0].get(), fds_[1].get(), fds_[2].get(), fds_[3].get());
}

Result<HostNamespaces> HostNamespaces::make_and_enter() {
    int flags = 0;
    for (auto const& kind : kinds) flags |= kind.flag;
    if (::unshare(flags) != 0) return os_error("make namespaces", errno);
    // Not /proc/<pid>: the init process calls this before it mounts the /proc of its PID namespace.
    return open("/proc/self");
}

Status HostNamespaces::enter() const {
    for (std::size_t i = 0; i < kinds.size(); ++i) {
        if (::setns(fds_[i].get(), kinds[i].flag) != 0) return os_error("enter a namespace", errno);
    }
    return Ok{};
}

ScopedHost::ScopedHost(HostNamespaces const& host, HostNamespaces const& original)
    : original_(original), entered_(host.enter()) {}

ScopedHost::~ScopedHost() {
    // The caller must not continue on the wrong host.
    if (!original_.enter()) std::abort();
}

Status set_host_name(std::string_view name) {
    if (::sethostname(name.data(), name.size()) != 0) {
        return os_error(fmt::format("set the host name '{}'", name), errno);
    }
    return Ok{};
}

}  // namespace det::loopback
