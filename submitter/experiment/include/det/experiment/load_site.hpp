#pragma once
#include <det/config/site_file.hpp>
#include <det/experiment/cluster_facts.hpp>
#include <det/experiment/context.hpp>
#include <det/site/site.hpp>

#include <functional>
#include <string>

namespace det::experiment {

/// Loads the site file: DET_SITE, else /etc/det/site.yaml, else an empty one. codes::unsafe_owner if users
/// other than root, the user of this process and those of installation_rules() can change it, because it
/// names directories to write and programs to run. The file of DET_SITE may also belong to the trusted_owners
/// of /etc/det/site.yaml.
Result<config::SiteFile, Diagnostics> load_site_file(Environment const& environment);

/// Loads the template of the batch script: the site's template if the site file names one, else the shipped
/// one. Checks the owner of the site's template as load_site_file does.
Result<std::string> load_job_template(config::SiteFile const& file);

/// Makes the pools from Slurm's partitions and the site file. The site file's values replace Slurm's.
Result<site::Site, Diagnostics> load_site(config::SiteFile const& file, Context& context,
                                          Freshness freshness = Freshness::current);

/// Finds the default pools of the cluster. Asks Slurm only when it is called, because most configurations do
/// not need it. If Slurm does not answer, warns and returns no pools. `file` and `context` must outlive the
/// function.
using FindDefaultPools = std::function<site::DefaultPools()>;
FindDefaultPools find_default_pools_of(config::SiteFile const& file, Context& context);

}  // namespace det::experiment
