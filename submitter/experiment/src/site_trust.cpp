#include <det/experiment/site_trust.hpp>
#include <det/experiment/trusted_directories.hpp>
#include <det/experiment/trusted_owner.hpp>
#include <det/foundation/executable.hpp>

#include <grp.h>
#include <vector>

namespace det::experiment {
namespace {

constexpr std::string_view group_prefix = "group:";

std::optional<gid_t> find_group(std::string const& name) {
    struct group entry {};
    struct group* found = nullptr;
    std::vector<char> buffer(std::size_t{1} << 16);
    ::getgrnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found);
    return found == nullptr ? std::nullopt : std::optional(found->gr_gid);
}

/// Adds a value of trusted_owners. Returns false if there is no such user or group.
bool add_owner(TrustRules& rules, std::string const& name) {
    if (name.starts_with(group_prefix)) {
        auto const group = find_group(name.substr(group_prefix.size()));
        if (group) rules.groups.push_back(*group);
        return group.has_value();
    }
    auto const user = find_user(name);
    if (user) rules.owners.push_back(*user);
    return user.has_value();
}

void add_installation(TrustRules& rules) {
    struct stat program {};
    if (::stat(own_executable().c_str(), &program) != 0) return;
    rules.owners.push_back(program.st_uid);
    if ((program.st_mode & S_IWGRP) != 0) rules.groups.push_back(program.st_gid);
}

}  // namespace

TrustRules installation_rules() {
    TrustRules rules;
    add_installation(rules);
    return rules;
}

TrustRules site_rules(config::SiteFile const& site) {
    auto rules = trust_rules(site);
    add_installation(rules);
    for (auto const& name : site.trusted_owners) add_owner(rules, name);
    return rules;
}

std::vector<std::string> find_unknown_owners(config::SiteFile const& site) {
    std::vector<std::string> unknown;
    TrustRules ignored;
    for (auto const& name : site.trusted_owners) {
        if (!add_owner(ignored, name)) unknown.push_back(name);
    }
    return unknown;
}

}  // namespace det::experiment
