#include "snapshot_files.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fmt/format.h>
#include <tuple>
#include <unistd.h>
#include <vector>

namespace det::checkpoint {

namespace fs = std::filesystem;

MemoryFiles list_memory_files(MemoryPlace const& place) {
    MemoryFiles found;
    for (auto const& directory : find_memory_directories(place)) {
        for (auto const& name : list_directory(directory).value_or(std::vector<std::string>())) {
            if (auto const parsed = parse_memory_file_name(name)) found.emplace(*parsed, directory);
        }
    }
    return found;
}

Status rename_file(fs::path const& from, fs::path const& to) {
    if (::rename(from.c_str(), to.c_str()) == 0) return Ok{};
    return os_error(fmt::format("rename '{}'", from.string()), errno);
}

std::uint64_t lacking_bytes(std::array<std::uint64_t, 2> const& held, std::uint64_t size_bytes) {
    return 2 * size_bytes - std::min(size_bytes, held[0]) - std::min(size_bytes, held[1]);
}

void SnapshotFiles::open(std::optional<SnapshotId> const& first) {
    if (std::exchange(is_open_, true)) return;
    std::vector<std::pair<SnapshotId, fs::path>> own;
    for (auto const& [name, directory] : list_memory_files(place_)) {
        if (name.rank == rank_ && name.ranks == ranks_)
            own.emplace_back(id_of(name), directory / to_string(name));
    }
    std::ranges::sort(own, std::ranges::greater{},
                      [&](auto const& each) { return std::tuple(first == each.first, each.first); });
    for (std::size_t i = 0; i < own.size(); ++i) {
        auto file = i < slots_.size() ? MappedFile::open_for_writing(own[i].second)
                                      : Result<MappedFile>(Error{codes::internal, "a third file"});
        if (!file) {
            (void)::unlink(own[i].second.c_str());
            continue;
        }
        auto const size = file->size_bytes();
        slots_[i] = {*std::move(file), own[i].second, size, own[i].first};
    }
}

SnapshotFiles::Slot& SnapshotFiles::choose(std::optional<SnapshotId> const& confirmed) {
    if (confirmed && slots_[0].id == confirmed) return slots_[1];
    if (confirmed && slots_[1].id == confirmed) return slots_[0];
    return slots_[0].id ? slots_[1] : slots_[0];
}

Status SnapshotFiles::prepare(Slot& slot, std::uint64_t size_bytes) {
    auto const number = &slot - slots_.data();
    auto directory = slot.path.parent_path();  // looking for it costs more than all else
    if (slot.path.empty()) {
        DET_TRY_ASSIGN(directory, make_memory_directory(place_));
    }
    auto const path = directory / fmt::format("new-{}of{}-{}", rank_, ranks_, number);
    if (slot.path.empty()) {
        (void)::unlink(path.c_str());  // of a run that was killed while it wrote
        DET_TRY_ASSIGN(slot.file, MappedFile::create(path));
    } else if (slot.path != path) {
        DET_TRY(rename_file(slot.path, path));
    }
    slot.path = path;
    slot.id.reset();
    DET_TRY(slot.file.resize(size_bytes));
    slot.size_bytes = size_bytes;
    return Ok{};
}

void SnapshotFiles::remove() {
    for (auto& slot : slots_) {
        if (!slot.path.empty()) (void)::unlink(slot.path.c_str());
        slot = {};
    }
}

}  // namespace det::checkpoint
