#pragma once
#include <det/foundation/environment.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace det::launch::node {

/// Addresses of a name in the text of /etc/hosts, in the order of its lines. Pure.
std::vector<std::string> find_in_hosts_file(std::string_view hosts_file, std::string_view name);

/// Whether /etc/nsswitch.conf looks up host names in /etc/hosts first. Pure.
bool hosts_file_comes_first(std::string_view nsswitch);

/// The addresses of a host, in the order in which to try them; empty for an unknown name. Cluster nodes are
/// mostly in /etc/hosts, which costs nothing to read; otherwise getent(1) is called, which uses everything
/// that nsswitch.conf names. (det-wrap-rank may be linked statically, and a static program can't call
/// getaddrinfo.)
std::vector<std::string> look_up_host(std::string const& name, Environment const& environment);

}  // namespace det::launch::node
