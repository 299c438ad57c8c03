#pragma once
#include <det/foundation/environment.hpp>

#include <string>
#include <utility>
#include <vector>

#include "cluster_paths.hpp"
#include "site_profile.hpp"

namespace det::loopback {

inline constexpr char const* researcher = "researcher";

using Variables = std::vector<std::pair<std::string, std::string>>;

/// The variables that a site's environment modules would set for this user.
Variables site_variables(ClusterPaths const& paths, SiteProfile const& profile, std::string const& user);
/// Renders lines "export NAME=value" for a shell.
std::string render_exports(Variables const& variables);

struct Account {
    std::string name;
    std::string home;
    std::string shell;
};

/// Returns the environment of a login. Like ssh, it drops the caller's variables. It keeps those of terminal,
/// locale and time zone, and DET_* except DET_ROOT, because tests configure det-submit's programs by them.
Environment login_environment(Environment const& caller, Account const& account, ClusterPaths const& paths,
                              SiteProfile const& profile);

}  // namespace det::loopback
