#include <det/tracker/index/local_disk.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fmt/format.h>
#include <sys/vfs.h>

namespace det::tracker::index {
namespace {

struct SharedFileSystem {
    std::uint32_t type;
    std::string_view name;
};

// The numbers are those of linux/magic.h and of the file systems' own sources.
constexpr std::array shared_file_systems{
    SharedFileSystem{0x6969, "NFS"},      SharedFileSystem{0x0bd00bd0, "Lustre"},
    SharedFileSystem{0x47504653, "GPFS"}, SharedFileSystem{0x19830326, "BeeGFS"},
    SharedFileSystem{0xff534d42, "CIFS"}, SharedFileSystem{0xfe534d42, "SMB"},
    SharedFileSystem{0x00c36400, "Ceph"}, SharedFileSystem{0x5346414f, "AFS"},
    SharedFileSystem{0x01161970, "GFS2"}, SharedFileSystem{0x7461636f, "OCFS2"},
    SharedFileSystem{0x65735546, "FUSE"}, SharedFileSystem{0xaad7aaea, "PanFS"},
    SharedFileSystem{0x01021997, "9p"},   SharedFileSystem{0x20030528, "OrangeFS"},
};

}  // namespace

std::optional<std::string_view> find_shared_file_system(std::uint32_t statfs_type) {
    auto const* const found = std::ranges::find(shared_file_systems, statfs_type, &SharedFileSystem::type);
    return found == shared_file_systems.end() ? std::nullopt : std::optional(found->name);
}

Status require_local_disk(std::filesystem::path const& directory, std::string_view advice) {
    struct statfs found {};
    if (::statfs(directory.c_str(), &found) != 0)
        return os_error(fmt::format("look at the file system of '{}'", directory.string()), errno);
    auto const name = find_shared_file_system(static_cast<std::uint32_t>(found.f_type));
    if (!name) return Ok{};
    return Error{codes::bad_value,
                 fmt::format("the index can't be in '{}': that is on {}, which does not keep an SQLite "
                             "database safe",
                             directory.string(), *name),
                 std::string(advice)};
}

}  // namespace det::tracker::index
