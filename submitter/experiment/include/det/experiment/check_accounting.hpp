#pragma once
#include <det/experiment/cluster_facts.hpp>
#include <det/experiment/context.hpp>
#include <det/experiment/submission_request.hpp>
#include <det/site/check.hpp>
#include <det/site/job_rules.hpp>

#include <vector>

namespace det::experiment {

/// What the accounting database decides about the time of this user's jobs. Nothing if slurmctld neither
/// enforces limits nor preempts by QOS, or if the database does not answer.
std::optional<site::JobAccounting> find_job_accounting(slurm::ClusterConfig const& config, Context& context,
                                                       Freshness freshness);

/// Warns if a limit of the account or QOS can never admit a trial: Slurm accepts such a job, and it waits for
/// ever. Asks the accounting database only if slurmctld enforces limits. If slurmctld or the database does
/// not answer, does not warn.
void warn_about_limits(plan::SubmissionPlan const& plan, Context& context);

/// Checks the pools of the site against the associations, QOSs and limits of this user. Without accounting
/// there are no findings; a database that does not answer is a finding.
std::vector<site::Finding> find_accounting_findings(config::SiteFile const& file,
                                                    std::vector<slurm::Partition> const& partitions,
                                                    slurm::ClusterConfig const& config, Context& context);

}  // namespace det::experiment
