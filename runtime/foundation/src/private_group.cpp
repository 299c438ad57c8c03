#include <det/foundation/trusted_path.hpp>
#include <det/foundation/user_name.hpp>

#include <algorithm>
#include <cerrno>
#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>

namespace det {
namespace {

// The entry of a group can name many thousand members. A private group names none.
constexpr std::size_t entry_max_bytes = std::size_t{1} << 20;

/// Calls a reentrant look-up of the user database with a buffer that is large enough. Returns false if there
/// is no entry, or an error.
template <class Entry, class LookUp, class Id>
bool look_up(LookUp look_up_entry, Id id, Entry& entry, std::vector<char>& buffer) {
    for (std::size_t size = 1024; size <= entry_max_bytes; size *= 4) {
        buffer.resize(size);
        Entry* found = nullptr;
        int const failure = look_up_entry(id, &entry, buffer.data(), buffer.size(), &found);
        if (failure == EINTR) {
            size /= 4;
        } else if (failure != ERANGE) {
            return failure == 0 && found != nullptr;
        }
    }
    return false;
}

}  // namespace

std::string name_of_group(gid_t group) {
    ::group entry{};
    std::vector<char> buffer;
    return look_up(::getgrgid_r, group, entry, buffer) ? entry.gr_name : std::to_string(group);
}

std::string name_of_user(uid_t user) {
    passwd entry{};
    std::vector<char> buffer;
    return look_up(::getpwuid_r, user, entry, buffer) ? entry.pw_name : std::to_string(user);
}

bool is_private_group(gid_t group, uid_t user) {
    if (user == 0) return false;
    passwd of_user{};
    ::group of_group{};
    std::vector<char> user_buffer, group_buffer;
    if (!look_up(::getpwuid_r, user, of_user, user_buffer) || of_user.pw_gid != group) return false;
    if (!look_up(::getgrgid_r, group, of_group, group_buffer)) return false;
    std::string_view const name(of_user.pw_name);
    if (of_group.gr_name != name) return false;
    for (auto* const* member = of_group.gr_mem; member != nullptr && *member != nullptr; ++member) {
        if (*member != name) return false;
    }
    return true;
}

std::string describe_access(struct stat const& info) {
    return fmt::format("owner {}, group {}, mode {:04o}", name_of_user(info.st_uid),
                       name_of_group(info.st_gid), info.st_mode & 07777);
}

}  // namespace det
