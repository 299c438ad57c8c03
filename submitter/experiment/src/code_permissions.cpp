#include <det/experiment/code_permissions.hpp>
#include <det/foundation/error_codes.hpp>
#include <det/foundation/user_name.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <unistd.h>

namespace det::experiment {
namespace {

std::vector<gid_t> groups_of_this_process() {
    std::vector<gid_t> groups;
    if (int const count = ::getgroups(0, nullptr); count > 0) {
        groups.resize(static_cast<std::size_t>(count));
        groups.resize(static_cast<std::size_t>(std::max(0, ::getgroups(count, groups.data()))));
    }
    groups.push_back(::getegid());
    return groups;
}

void report(Error error, GroupWritePolicy group, Diagnostics& found) {
    group == GroupWritePolicy::refused ? found.report(std::move(error)) : found.warn(std::move(error));
}

}  // namespace

Writers writers_of(FileAccess const& access, std::vector<gid_t> const& groups) {
    if (!access.can_others_write) return Writers::none;
    if ((access.info.st_mode & S_IWOTH) != 0) return Writers::others;
    bool const is_member = std::ranges::find(groups, access.info.st_gid) != groups.end();
    return is_member ? Writers::group : Writers::others;
}

void check_code_permissions(std::string_view what, std::filesystem::path const& path, GroupWritePolicy group,
                            TrustRules const& rules, Diagnostics& found) {
    auto const access = load_access(path, rules);
    if (!access) return;  // the function that reads the code reports it
    auto const named = fmt::format("the {} '{}'", what, path.string());
    if (access->info.st_uid != rules.user) {
        return found.report(Error{codes::unsafe_owner, fmt::format("{} belongs to another user", named),
                                  "copy it to a directory of yours"});
    }
    if (auto above = check_trusted_ancestors(path, rules); !above)
        return found.report(std::move(above).error().while_doing(fmt::format("checking {}", named)));
    auto const remedy = fmt::format("chmod go-w '{}'", path.string());
    auto const writers = writers_of(*access, groups_of_this_process());
    if (writers == Writers::others)
        return found.report(
            Error{codes::unsafe_owner, fmt::format("others can write into {}", named), remedy});
    if (writers == Writers::none) return;
    report(Error{codes::unsafe_owner,
                 fmt::format("the group '{}' can write into {}: its members' changes would run as you",
                             name_of_group(access->info.st_gid), named),
                 remedy},
           group, found);
}

void check_group_code(pack::ContextTree const& tree, GroupWritePolicy group, Diagnostics& found) {
    auto const& shared = tree.shared;
    if (shared.count == 0) return;
    auto const others = shared.count == 1 ? std::string() : fmt::format(" and {} more", shared.count - 1);
    report(
        Error{codes::unsafe_owner,
              fmt::format("a group or another user can write '{}'{} in the code: their changes would run as "
                          "you",
                          shared.first, others),
              "give the code to yourself, and make it writable for you only: chmod -R go-w DIR"},
        group, found);
}

}  // namespace det::experiment
