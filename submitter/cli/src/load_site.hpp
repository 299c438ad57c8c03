#pragma once
#include <det/config/site_file.hpp>
#include <det/site/site.hpp>

#include <functional>
#include <optional>
#include <string>

#include "cluster_facts.hpp"
#include "session.hpp"

namespace det::cli {

/// The site file: DET_SITE, else /etc/det/site.yaml, else nothing is said. One that somebody besides root and
/// this user could have written is codes::unsafe_owner: it says where things are written and what is run.
Result<config::SiteFile, Diagnostics> load_site_file(Environment const& environment);

/// The batch script with its {{values}}: the site's, which is looked at like the site file, else ours.
Result<std::string> load_job_template(config::SiteFile const& file);

/// The file over the live cluster.
Result<site::Site, Diagnostics> load_site(config::SiteFile const& file, Session& session,
                                          Freshness freshness = Freshness::now);

/// Slurm's default partition, when it is called: most configurations need not know. That Slurm does not
/// answer is told as a warning.
using FindDefaultPartition = std::function<std::optional<std::string>()>;
FindDefaultPartition default_partition_of(Session& session);

}  // namespace det::cli
