#include "users.hpp"

#include <det/foundation/text.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace det::loopback {
namespace {

constexpr std::string_view names[] = {"researcher", "colleague"};
constexpr uid_t first_id = 20001;

/// Field 2 of each line of passwd and group.
void collect_ids(std::string_view database, std::set<uid_t>& ids) {
    for (auto const line : split_lines(database)) {
        auto const fields = split(line, ':');
        if (fields.size() < 3) continue;
        if (auto const id = parse_integer<uid_t>(fields[2])) ids.insert(*id);
    }
}

/// The host's lines, without those that name one of ours.
std::string without(std::string_view database, std::vector<PlainUser> const& users) {
    std::string kept;
    for (auto const line : split_lines(database)) {
        auto const name = split(line, ':').front();
        auto const is_ours = [&](PlainUser const& user) { return user.name == name; };
        if (std::none_of(users.begin(), users.end(), is_ours)) kept += fmt::format("{}\n", line);
    }
    return kept;
}

}  // namespace

std::vector<PlainUser> choose_plain_users(std::string_view host_passwd, std::string_view host_group) {
    std::set<uid_t> taken;
    collect_ids(host_passwd, taken);
    collect_ids(host_group, taken);
    std::vector<PlainUser> users;
    uid_t id = first_id;
    for (auto const name : names) {
        while (taken.contains(id)) ++id;
        users.push_back({std::string(name), id++});
    }
    return users;
}

std::string render_passwd(std::string_view host_passwd, std::vector<PlainUser> const& users,
                          ClusterPaths const& paths) {
    auto text = without(host_passwd, users);
    for (auto const& user : users) {
        text += fmt::format("{}:x:{}:{}::{}:/bin/bash\n", user.name, user.id, user.id,
                            paths.home(user.name).string());
    }
    return text;
}

std::string render_group(std::string_view host_group, std::vector<PlainUser> const& users) {
    auto text = without(host_group, users);
    for (auto const& user : users) text += fmt::format("{}:x:{}:\n", user.name, user.id);
    return text;
}

}  // namespace det::loopback
