#include "host_pids.hpp"

#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>

#include <fmt/format.h>
#include <sys/stat.h>

namespace det::loopback {
namespace {

ino_t pid_namespace_of(pid_t pid) {
    struct stat info {};
    return ::stat(fmt::format("/proc/{}/ns/pid", pid).c_str(), &info) == 0 ? info.st_ino : 0;
}

/// "NSpid:\t4711\t12": the last is the innermost.
pid_t innermost_pid(pid_t pid) {
    constexpr std::string_view key = "NSpid:";
    auto const text = read_file(fmt::format("/proc/{}/status", pid)).value_or("");
    for (auto const line : split_lines(text)) {
        if (line.starts_with(key)) return parse_integer<pid_t>(split(line, '\t').back()).value_or(-1);
    }
    return -1;
}

}  // namespace

std::map<pid_t, pid_t> find_host_pids(pid_t keeper) {
    std::map<pid_t, pid_t> pids;
    auto const ours = pid_namespace_of(keeper);
    for (auto const& name : list_directory("/proc").value_or(std::vector<std::string>())) {
        auto const pid = parse_integer<pid_t>(name);
        if (pid && pid_namespace_of(*pid) == ours) pids[innermost_pid(*pid)] = *pid;
    }
    return pids;
}

}  // namespace det::loopback
