#pragma once
#include <det/config/site_file.hpp>
#include <det/foundation/trusted_path.hpp>

#include <string>
#include <vector>

namespace det::experiment {

/// The rules for a site file. Besides root and the user, those may own and write it who can replace this
/// program: the owner of its file, and the group of the file if the group may write it.
TrustRules installation_rules();

/// The rules for what a site file names: installation_rules(), and its trusted_owners. Ignores users and
/// groups that do not exist: see find_unknown_owners().
TrustRules site_rules(config::SiteFile const& site);

/// The trusted_owners that are no user and no group of this host.
std::vector<std::string> find_unknown_owners(config::SiteFile const& site);

}  // namespace det::experiment
