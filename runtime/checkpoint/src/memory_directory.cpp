#include <det/checkpoint/memory_directory.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>

#include <algorithm>
#include <cerrno>
#include <fmt/format.h>
#include <limits>
#include <map>
#include <optional>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "memory_file.hpp"

namespace det::checkpoint {
namespace {

namespace fs = std::filesystem;

/// The beginning of the names of all directories of this user.
std::string own_prefix() { return fmt::format("det-memory-{}-", ::geteuid()); }

std::string memory_directory_name(MemoryPlace const& place) {
    auto const name = fmt::format("{}{}-{}", own_prefix(), place.job, place.trial);
    return place.restart_count.empty() ? name : fmt::format("{}-{}", name, place.restart_count);
}

/// Whether only this user can enter it. A symbolic link is no directory.
bool is_private_directory(fs::path const& path) {
    struct stat info {};
    return ::lstat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == ::geteuid() &&
           (info.st_mode & 077) == 0;
}

/// \return false if the name belongs to something else
Result<bool> make_private_directory(fs::path const& path) {
    if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)
        return os_error(fmt::format("create '{}'", path.string()), errno);
    return is_private_directory(path);
}

std::vector<std::string> names_with_prefix(fs::path const& base, std::string const& prefix) {
    auto names = list_directory(base).value_or(std::vector<std::string>());
    std::erase_if(names, [&](auto const& name) { return !name.starts_with(prefix); });
    return names;
}

// What is left of the memory. A limit that can't be read is none.

constexpr auto no_limit = std::numeric_limits<std::uint64_t>::max();

std::optional<std::uint64_t> read_number(fs::path const& path) {
    auto const text = read_file(path);
    return text ? parse_integer<std::uint64_t>(trim(*text)) : std::nullopt;
}

/// The number after a word at the beginning of a line: "MemAvailable:   123 kB", "inactive_file 4096".
std::optional<std::uint64_t> find_number(std::string_view text, std::string_view word) {
    for (auto const line : split_lines(text)) {
        if (!line.starts_with(word)) continue;
        auto const rest = trim(line.substr(word.size()));
        return parse_integer<std::uint64_t>(rest.substr(0, rest.find(' ')));
    }
    return std::nullopt;
}

/// The names of a memory controller's files.
struct ControllerFiles {
    char const* mountpoint;
    char const* limit;
    char const* usage;
    char const* inactive;  // in memory.stat
};
constexpr ControllerFiles cgroup_v1{"sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
                                    "total_inactive_file "};
constexpr ControllerFiles cgroup_v2{"sys/fs/cgroup", "memory.max", "memory.current", "inactive_file "};

std::uint64_t left_in_group(fs::path const& group, ControllerFiles const& files) {
    auto const limit = read_number(group / files.limit);  // "max" is no number
    auto const usage = read_number(group / files.usage);
    if (!limit || !usage) return no_limit;
    auto const statistics = read_file(group / "memory.stat");
    auto const inactive = statistics ? find_number(*statistics, files.inactive).value_or(0) : 0;
    auto const held = *usage - std::min(*usage, inactive);
    return *limit - std::min(*limit, held);
}

/// The least that is left in a group of this process and in those above it.
std::uint64_t left_in_groups(fs::path const& root) {
    auto const own = read_file(root / "proc/self/cgroup").value_or("");
    auto least = no_limit;
    for (auto const line : split_lines(own)) {
        // number:controllers:path; cgroup v2 names no controller.
        auto const first = line.find(':');
        auto const second = first == line.npos ? line.npos : line.find(':', first + 1);
        if (second == line.npos) continue;
        auto const controllers = line.substr(first + 1, second - first - 1);
        if (!controllers.empty() && controllers != "memory") continue;
        auto const& files = controllers.empty() ? cgroup_v2 : cgroup_v1;
        for (auto path = fs::path(line.substr(second + 1)).relative_path();; path = path.parent_path()) {
            least = std::min(least, left_in_group(root / files.mountpoint / path, files));
            if (path.empty()) break;
        }
    }
    return least;
}

}  // namespace

Result<fs::path> make_memory_directory(MemoryPlace const& place) {
    if (auto const found = find_memory_directories(place); !found.empty()) return found.front();
    auto const path = place.base / memory_directory_name(place);
    DET_TRY_ASSIGN(bool const is_own, make_private_directory(path));
    if (is_own) return path;
    auto const other = fs::path(fmt::format("{}-{}", path.string(), place.local_suffix));
    if (!place.local_suffix.empty()) {
        DET_TRY_ASSIGN(bool const is_other_own, make_private_directory(other));
        if (is_other_own) return other;
    }
    return Error{codes::unsafe_owner,
                 fmt::format("'{}' is not a directory that only this user can enter", path.string())};
}

std::vector<fs::path> find_memory_directories(MemoryPlace const& place) {
    auto const name = memory_directory_name(place);
    std::vector<fs::path> found;
    for (auto const& each : names_with_prefix(place.base, name)) {
        bool const is_of_trial = each == name || each.starts_with(name + "-");  // 7.1 is not 7.12
        if (is_of_trial && is_private_directory(place.base / each)) found.push_back(place.base / each);
    }
    return found;
}

int count_kept_ranks(MemoryPlace const& place, std::uint32_t run) {
    std::map<SnapshotId, int> counts;
    int most = 0;
    for (auto const& directory : find_memory_directories(place)) {
        for (auto const& file : list_directory(directory).value_or(std::vector<std::string>())) {
            auto const name = parse_memory_file_name(file);
            if (name && name->run == run) most = std::max(most, ++counts[id_of(*name)]);
        }
    }
    return most;
}

void remove_older_snapshots(MemoryPlace const& place, std::uint32_t run) {
    auto of_all_restarts = place;
    of_all_restarts.restart_count.clear();
    auto const kept = find_memory_directories(place);
    for (auto const& directory : find_memory_directories(of_all_restarts)) {
        if (std::ranges::find(kept, directory) == kept.end()) {
            (void)remove_tree(directory);
            continue;
        }
        for (auto const& name : list_directory(directory).value_or(std::vector<std::string>())) {
            auto const parsed = parse_memory_file_name(name);
            bool const is_of_last_run = parsed && run > 0 && parsed->run == run - 1;
            if (!is_of_last_run) (void)::unlink((directory / name).c_str());
        }
    }
}

std::string restart_count_of(std::string_view run_key) {
    auto const last = run_key.substr(run_key.rfind('-') + 1);  // the whole text if it has no '-'
    bool const is_number = run_key.find('-') != run_key.npos && parse_integer<std::uint32_t>(last);
    return is_number ? std::string(last) : "0";
}

std::vector<MemoryDirectory> list_memory_directories(fs::path const& base) {
    auto const prefix = own_prefix();
    std::vector<MemoryDirectory> found;
    for (auto const& name : names_with_prefix(base, prefix)) {
        auto const rest = std::string_view(name).substr(prefix.size());
        auto const job = rest.substr(0, rest.find('-'));
        if (!parse_integer<std::uint32_t>(job) || !is_private_directory(base / name)) continue;
        found.push_back({base / name, std::string(job)});
    }
    return found;
}

std::uint64_t available_memory_bytes(fs::path const& base, fs::path const& root) {
    auto least = left_in_groups(root);
    struct statvfs space {};
    if (::statvfs(base.c_str(), &space) == 0)
        least = std::min<std::uint64_t>(least, std::uint64_t{space.f_bavail} * space.f_frsize);
    auto const memory = read_file(root / "proc/meminfo");
    auto const available_kib = memory ? find_number(*memory, "MemAvailable:") : std::nullopt;
    return available_kib ? std::min(least, *available_kib * 1024) : least;
}

}  // namespace det::checkpoint
