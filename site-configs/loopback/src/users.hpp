#pragma once
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

#include "cluster_paths.hpp"

// The cluster's plain users. They exist in copies of the host's user database which only the cluster sees.
namespace det::loopback {

struct PlainUser {
    std::string name;
    uid_t id;  // of the user and of its group
};

/// researcher, who works here; colleague, whom researcher's files must be safe from. The host may have given
/// their usual ids away: then the next free ones.
std::vector<PlainUser> choose_plain_users(std::string_view host_passwd, std::string_view host_group);

std::string render_passwd(std::string_view host_passwd, std::vector<PlainUser> const& users,
                          ClusterPaths const& paths);
std::string render_group(std::string_view host_group, std::vector<PlainUser> const& users);

}  // namespace det::loopback
