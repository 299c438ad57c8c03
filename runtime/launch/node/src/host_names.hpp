#pragma once
#include <det/foundation/environment.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace det::launch::node {

/// Addresses of a name in the text of /etc/hosts, in the order of its lines. Pure.
std::vector<std::string> find_in_hosts_file(std::string_view hosts_file, std::string_view name);

/// Whether /etc/nsswitch.conf has names looked up in /etc/hosts before all else. Pure.
bool hosts_file_comes_first(std::string_view nsswitch);

/// The addresses behind a name, in the order in which to try them; none where nobody knows it. Nodes of a
/// cluster mostly stand in /etc/hosts, and reading that costs nothing; else getent is asked, which knows all
/// that nsswitch.conf names. (getaddrinfo is not for us: a program that is linked statically, as wrappers
/// are, can't call it.)
std::vector<std::string> look_up_host(std::string const& name, Environment const& environment);

}  // namespace det::launch::node
