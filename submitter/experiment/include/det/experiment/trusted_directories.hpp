#pragma once
#include <det/config/site_file.hpp>
#include <det/experiment/context.hpp>
#include <det/experiment/open_experiment.hpp>
#include <det/foundation/trusted_path.hpp>
#include <det/protocol/directory_layout.hpp>
#include <det/site/check.hpp>

#include <vector>

namespace det::experiment {

/// The rules of this user at this site.
TrustRules trust_rules(config::SiteFile const& site);

/// Checks the root, its directories of code, templates and models, and all directories above them
/// (check_trusted_directory). For commands that run or remove what a root names; those that only show it do
/// without, so that a user can look at his experiments and end them wherever they are.
Status require_trusted_root(RootLayout const& root, TrustRules const& rules);

/// Checks the root of an experiment, and the experiment's directory. Loads the site file.
Status require_trusted_experiment(OpenExperiment const& experiment, Context& context);

/// Checks the directory of a checkpoint storage, which may be sticky. Succeeds for one that does not exist
/// yet, and for an empty path: the storage is no directory.
Status require_trusted_storage(std::filesystem::path const& directory, TrustRules const& rules);

/// Compares the directories that the site file names, and the root of this user, with the rules.
std::vector<site::Finding> find_directory_findings(config::SiteFile const& site,
                                                   Environment const& environment);

}  // namespace det::experiment
