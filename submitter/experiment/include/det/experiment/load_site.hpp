#pragma once
#include <det/config/site_file.hpp>
#include <det/experiment/cluster_facts.hpp>
#include <det/experiment/context.hpp>
#include <det/site/site.hpp>

#include <functional>
#include <optional>
#include <string>

namespace det::experiment {

/// Loads the site file: DET_SITE, else /etc/det/site.yaml, else an empty one. codes::unsafe_owner if another
/// user than root and this one could have written it: it says where files are written and what is run.
Result<config::SiteFile, Diagnostics> load_site_file(Environment const& environment);

/// The template of the batch script: the site's, whose owner is checked like that of the site file, else
/// ours.
Result<std::string> load_job_template(config::SiteFile const& file);

/// The pools: what the site file says, over the partitions that Slurm has now.
Result<site::Site, Diagnostics> load_site(config::SiteFile const& file, Context& context,
                                          Freshness freshness = Freshness::current);

/// Finds Slurm's default partition when it is called: most configurations do not need it. If Slurm does not
/// answer, warns and returns nothing.
using FindDefaultPartition = std::function<std::optional<std::string>()>;
FindDefaultPartition find_default_partition_of(Context& context);

}  // namespace det::experiment
