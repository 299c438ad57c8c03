#pragma once
#include <det/config/site_file.hpp>
#include <det/protocol/directory_layout.hpp>

namespace det::experiment {

/// Who can read the new experiments of a root: the choice of its owner, else that of the site.
Result<config::Sharing> find_sharing(RootLayout const& root, config::SiteFile const& site);

/// Records the choice of the owner in the file `sharing` of the root, and applies it.
Status record_sharing(RootLayout const& root, config::Sharing sharing);

/// Makes the directories that the experiments of a root have in common, and sets their modes so that what is
/// made in them is shared with the group of the root, or is not (foundation/shared_directory.hpp). What is
/// there already keeps its modes. codes::permission if this user is not in the group of the root.
Status apply_sharing(RootLayout const& root, config::Sharing sharing);

/// Lets the group of a root read an archive of code that an earlier experiment has stored. Does nothing if
/// the root is not shared.
Status share_code(RootLayout const& root, std::string const& sha256);

/// The name of the group of a root if it has no members besides the user: sharing with it has no effect.
std::optional<std::string> find_group_of_one(RootLayout const& root);

}  // namespace det::experiment
