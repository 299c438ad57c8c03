#include "checkpoint_read_ahead.hpp"

#include <det/foundation/files.hpp>
#include <det/foundation/start_thread.hpp>
#include <det/foundation/text.hpp>
#include <det/protocol/checkpoint_manifest.hpp>

#include <algorithm>
#include <fcntl.h>
#include <new>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace det::launch::wrap_rank {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t step_bytes = std::size_t{1} << 20;
constexpr std::uint64_t share_of_free_memory = 4;

/// Whether a rank of the task will probably load the shard. If there are not as many tasks as shards,
/// neighbouring tasks load neighbouring shards.
bool belongs_to_task(std::uint64_t shard, std::uint64_t shards, TaskIdentity const& task) {
    auto const rank = static_cast<std::uint64_t>(task.rank), size = static_cast<std::uint64_t>(task.size);
    return size >= shards ? rank * shards / size == shard : shard * size / shards == rank;
}

UniqueFd open_file(fs::path const& path) {
    return UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
}

std::vector<FileSize> list_files(fs::path const& directory) {
    std::vector<FileSize> files;
    for (auto& name : list_directory(directory).value_or(std::vector<std::string>())) {
        struct stat info {};
        if (::lstat((directory / name).c_str(), &info) == 0 && S_ISREG(info.st_mode))
            files.push_back({std::move(name), static_cast<std::uint64_t>(info.st_size)});
    }
    return files;
}

std::uint64_t free_memory_bytes() {
    constexpr std::string_view name = "MemAvailable:", unit = "kB";
    auto const text = read_file("/proc/meminfo");
    if (!text) return 0;
    for (auto line : split_lines(*text)) {
        if (!line.starts_with(name) || !line.ends_with(unit)) continue;
        line.remove_prefix(name.size());
        line.remove_suffix(unit.size());
        return parse_integer<std::uint64_t>(trim(line)).value_or(0) * 1024;
    }
    return 0;
}

void read_file_ahead(fs::path const& path, std::vector<char>& memory, std::stop_token const& stop) {
    auto const file = open_file(path);
    if (!file) return;
    ::posix_fadvise(file.get(), 0, 0, POSIX_FADV_SEQUENTIAL);
    while (!stop.stop_requested() && ::read(file.get(), memory.data(), memory.size()) > 0) {
    }
}

void read_ahead(fs::path const& checkpoint, TaskIdentity const& task, std::stop_token const& stop) {
    auto const limit = free_memory_bytes() / share_of_free_memory / static_cast<unsigned>(task.local_size);
    std::vector<char> memory(step_bytes);
    for (auto const& name : choose_to_read_ahead(list_files(checkpoint), task, limit))
        read_file_ahead(checkpoint / name, memory, stop);
}

/// Returns no thread if none can be created.
std::jthread start(fs::path checkpoint, TaskIdentity task) try {
    return start_thread("det-read-ahead", [checkpoint = std::move(checkpoint),
                                           task = std::move(task)](std::stop_token const& stop) {
        try {
            read_ahead(checkpoint, task, stop);
        } catch (std::bad_alloc const&) {
        }
    });
} catch (std::system_error const&) {
    return {};
}

}  // namespace

std::vector<std::string> choose_to_read_ahead(std::vector<FileSize> files, TaskIdentity const& task,
                                              std::uint64_t limit_bytes) {
    std::ranges::sort(files, {}, &FileSize::name);
    std::uint64_t shards = 0;
    for (auto const& file : files) {
        if (auto const shard = rank_of_shard(file.name)) shards = std::max(shards, std::uint64_t{*shard} + 1);
    }
    std::vector<FileSize> own, shared;
    int others = 0;
    for (auto& file : files) {
        if (auto const shard = rank_of_shard(file.name)) {
            if (belongs_to_task(*shard, shards, task)) own.push_back(std::move(file));
        } else if (others++ % task.local_size == task.local_rank) {
            shared.push_back(std::move(file));
        }
    }
    own.insert(own.end(), shared.begin(), shared.end());
    std::vector<std::string> chosen;
    for (auto& file : own) {
        if (file.size_bytes > limit_bytes) continue;
        limit_bytes -= file.size_bytes;
        chosen.push_back(std::move(file.name));
    }
    return chosen;
}

ReadAhead::ReadAhead(fs::path checkpoint, TaskIdentity task)
    : thread_(start(std::move(checkpoint), std::move(task))) {}

}  // namespace det::launch::wrap_rank
