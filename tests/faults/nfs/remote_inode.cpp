#include "remote_inode.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/fuse.h>

namespace det::faults {
namespace {

std::int64_t nanoseconds(timespec const& time) {
    constexpr std::int64_t second_ns = 1'000'000'000;
    return time.tv_sec * second_ns + time.tv_nsec;
}

}  // namespace

ChangeAttribute change_attribute(struct stat const& attributes) {
    return {nanoseconds(attributes.st_mtim), nanoseconds(attributes.st_ctim)};
}

std::string RemoteInode::proc_path() const { return fmt::format("/proc/self/fd/{}", path.get()); }

int RemoteInode::refresh(SteadyTime until) {
    struct stat now {};
    if (::fstatat(path.get(), "", &now, AT_EMPTY_PATH) != 0) return errno;
    if (now.st_nlink == 0) return ESTALE;
    attributes = now;
    valid_until = until;
    if (is_directory() && change_attribute(now) != change) {
        names.clear();
        change = change_attribute(now);
    }
    return 0;
}

struct stat RemoteInode::local_attributes() const {
    auto local = attributes;
    if (dirty.is_empty()) return local;
    local.st_size = std::max<off_t>(local.st_size, static_cast<off_t>(dirty.end()));
    auto const age = std::chrono::steady_clock::now() - dirty.since();
    auto const written = std::chrono::system_clock::now() - age;
    local.st_mtim.tv_sec =
        std::chrono::duration_cast<std::chrono::seconds>(written.time_since_epoch()).count();
    // Differs from write to write, so that the kernel drops the pages that it has of the file.
    local.st_mtim.tv_nsec = static_cast<long>(dirty.size_bytes() % 1'000'000'000);
    return local;
}

InodeTable::InodeTable(UniqueFd root) : last_id_(FUSE_ROOT_ID) {
    auto inode = std::make_shared<RemoteInode>();
    inode->id = FUSE_ROOT_ID;
    inode->path = std::move(root);
    inode->lookups = 1;  // the kernel never forgets it
    inode->refresh({});
    by_key_[{inode->attributes.st_dev, inode->attributes.st_ino}] = inode;
    by_id_[FUSE_ROOT_ID] = std::move(inode);
}

InodeTable::Pointer InodeTable::find(std::uint64_t id) const {
    auto const found = by_id_.find(id);
    return found == by_id_.end() ? nullptr : found->second;
}

InodeTable::Pointer InodeTable::intern(UniqueFd path) {
    struct stat info {};
    if (::fstatat(path.get(), "", &info, AT_EMPTY_PATH) != 0) return nullptr;
    auto& known = by_key_[{info.st_dev, info.st_ino}];
    // A number is not used for another file while a descriptor of the old one is open.
    if (auto inode = known.lock()) return inode;
    auto inode = std::make_shared<RemoteInode>();
    inode->id = ++last_id_;
    inode->path = std::move(path);
    inode->attributes = info;
    known = inode;
    return inode;
}

void InodeTable::add_lookup(Pointer const& inode) {
    ++inode->lookups;
    by_id_[inode->id] = inode;
}

void InodeTable::forget(std::uint64_t id, std::uint64_t lookups) {
    auto const found = by_id_.find(id);
    if (found == by_id_.end() || id == FUSE_ROOT_ID) return;
    auto& inode = *found->second;
    inode.lookups -= std::min(inode.lookups, lookups);
    if (inode.lookups == 0 && inode.open_count == 0) by_id_.erase(found);
}

void InodeTable::drop_names_of(Pointer const& inode) {
    for (auto const& [id, directory] : by_id_)
        std::erase_if(directory->names, [&](auto const& entry) { return entry.second == inode; });
}

std::vector<InodeTable::Pointer> InodeTable::dirty_files() const {
    std::vector<Pointer> files;
    for (auto const& [id, inode] : by_id_)
        if (!inode->dirty.is_empty()) files.push_back(inode);
    return files;
}

}  // namespace det::faults
