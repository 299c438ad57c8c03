#pragma once
#include <det/foundation/environment.hpp>

#include <string>
#include <utility>
#include <vector>

#include "cluster_paths.hpp"

namespace det::loopback {

inline constexpr char const* researcher = "researcher";

using Variables = std::vector<std::pair<std::string, std::string>>;

/// What a site's modules would set for this user.
Variables site_variables(ClusterPaths const& paths, std::string const& user);
/// "export NAME=value" lines for a shell.
std::string render_exports(Variables const& variables);

struct Account {
    std::string name;
    std::string home;
    std::string shell;
};

/// A login's environment begins empty, as with ssh: of the caller's it keeps how the terminal speaks, and
/// DET_*, which is how tests steer our programs.
Environment login_environment(Environment const& caller, Account const& account, ClusterPaths const& paths);

}  // namespace det::loopback
