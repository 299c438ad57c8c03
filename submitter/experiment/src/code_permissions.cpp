#include <det/experiment/code_permissions.hpp>
#include <det/foundation/error_codes.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

namespace det::experiment {
namespace {

UserIdentity this_user() {
    UserIdentity user{::geteuid(), {}, {::getegid()}};
    if (auto const* entry = ::getpwuid(user.user)) user.name = entry->pw_name;
    if (int const count = ::getgroups(0, nullptr); count > 0) {
        std::vector<gid_t> groups(static_cast<std::size_t>(count));
        groups.resize(static_cast<std::size_t>(std::max(0, ::getgroups(count, groups.data()))));
        user.groups.insert(user.groups.end(), groups.begin(), groups.end());
    }
    return user;
}

std::string name_of_group(gid_t group) {
    auto const* entry = ::getgrgid(group);
    return entry == nullptr ? std::to_string(group) : entry->gr_name;
}

}  // namespace

Writers writers_of(FileAccess const& access, UserIdentity const& user) {
    if ((access.mode & S_IWOTH) != 0) return Writers::others;
    if ((access.mode & S_IWGRP) == 0 || access.group_name == user.name) return Writers::none;
    bool const is_member = std::ranges::find(user.groups, access.group) != user.groups.end();
    return is_member ? Writers::group : Writers::others;
}

void check_code_permissions(std::string_view what, std::filesystem::path const& path, GroupWritePolicy group,
                            Diagnostics& found) {
    struct stat info {};
    if (::stat(path.c_str(), &info) != 0) return;  // the function that reads the code reports it
    auto const named = fmt::format("the {} '{}'", what, path.string());
    auto const user = this_user();
    FileAccess const access{info.st_uid, info.st_gid, info.st_mode, name_of_group(info.st_gid)};
    if (access.user != user.user) {
        return found.report(Error{codes::unsafe_owner, fmt::format("{} belongs to another user", named),
                                  "copy it to a directory of yours"});
    }
    auto const remedy = fmt::format("chmod go-w '{}'", path.string());
    auto const writers = writers_of(access, user);
    if (writers == Writers::others)
        return found.report(
            Error{codes::unsafe_owner, fmt::format("others can write into {}", named), remedy});
    if (writers == Writers::none) return;
    Error error{codes::unsafe_owner,
                fmt::format("the group '{}' can write into {}: its members' changes would run as you",
                            access.group_name, named),
                remedy};
    group == GroupWritePolicy::refused ? found.report(std::move(error)) : found.warn(std::move(error));
}

}  // namespace det::experiment
