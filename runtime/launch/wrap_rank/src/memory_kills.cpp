#include "memory_kills.hpp"

#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>

#include <optional>
#include <string>

namespace det::launch::wrap_rank {
namespace {

namespace fs = std::filesystem;

/// A group that this process is in: its directory below the mountpoint of the hierarchy, and the file that
/// counts the kernel's kills.
struct MemoryGroup {
    fs::path mountpoint;
    std::string path;  // as in /proc/self/cgroup: begins with '/'
    char const* file;
};

/// Finds the group in the text of /proc/self/cgroup, whose lines are `number:controllers:path`. Cgroup v1 has
/// a line of the memory controller; the line of cgroup v2 has the number 0 and names no controller.
std::optional<MemoryGroup> find_memory_group(std::string_view text, fs::path const& root) {
    std::optional<MemoryGroup> unified;
    for (auto const line : split_lines(text)) {
        auto const first = line.find(':');
        auto const second = first == line.npos ? line.npos : line.find(':', first + 1);
        if (second == line.npos) continue;
        auto const path = std::string(line.substr(second + 1));
        auto const controllers = line.substr(first + 1, second - first - 1);
        if (!path.starts_with('/')) continue;
        if (controllers == "memory")
            return MemoryGroup{root / "sys/fs/cgroup/memory", path, "memory.oom_control"};
        if (controllers.empty()) unified = MemoryGroup{root / "sys/fs/cgroup", path, "memory.events"};
    }
    return unified;
}

/// The number of the line `oom_kill NUMBER`.
std::uint64_t parse_oom_kill(std::string_view text) {
    constexpr std::string_view key = "oom_kill ";
    for (auto const line : split_lines(text)) {
        if (line.starts_with(key))
            return parse_integer<std::uint64_t>(trim(line.substr(key.size()))).value_or(0);
    }
    return 0;
}

}  // namespace

std::uint64_t count_memory_kills(fs::path const& root) {
    auto const own = read_file(root / "proc/self/cgroup");
    auto const group = own ? find_memory_group(*own, root) : std::nullopt;
    if (!group) return 0;
    // A group that has not got the memory controller is accounted to the next one above that has it, up to
    // the group of the job: those above it have other jobs too.
    for (auto path = fs::path(group->path).relative_path(); !path.empty(); path = path.parent_path()) {
        if (auto const text = read_file(group->mountpoint / path / group->file)) return parse_oom_kill(*text);
        if (path.filename().string().starts_with("job_")) return 0;
    }
    return 0;
}

}  // namespace det::launch::wrap_rank
