#include <det/site/job_rules.hpp>
#include <det/site/site.hpp>

#include <algorithm>

#include "accounting_rows.hpp"

namespace det::site {
namespace {

std::string first_non_empty(std::string const& a, std::string const& b, std::string const& c) {
    return !a.empty() ? a : !b.empty() ? b : c;
}

JobOwner owner_of(JobAccounting const& accounting, Pool const& pool, JobRequest const& request) {
    auto const& environment = accounting.of_environment;
    return {accounting.user, first_non_empty(request.account, pool.account.value_or(""), environment.account),
            pool.partition, first_non_empty(request.qos, pool.qos.value_or(""), environment.qos)};
}

/// Of several limits Slurm applies the first that is set: that of the partition's QOS, of the job's QOS (the
/// other way round with OverPartQOS), of the association.
void set_time_limit(JobRules& rules, slurm::Qos const* of_partition, slurm::Qos const* of_job,
                    slurm::Association const& association) {
    if (of_job != nullptr && of_job->has_flag("OverPartQOS")) std::swap(of_partition, of_job);
    for (auto const* qos : {of_partition, of_job}) {
        if (qos == nullptr || qos->limits.wall_max.empty()) continue;
        rules.time_max = qos->limits.wall_max;
        rules.time_owner = name_of(*qos);
        return;
    }
    if (association.limits.wall_max.empty()) return;
    rules.time_max = association.limits.wall_max;
    rules.time_owner = name_of(association);
}

void set_preemption(JobRules& rules, JobAccounting const& accounting, slurm::Qos const& qos) {
    bool const is_preempted = std::ranges::any_of(accounting.rows.qos, [&](auto const& other) {
        return std::ranges::find(other.preempts, qos.name) != other.preempts.end();
    });
    auto const& own_mode = qos.preempt_mode;
    rules.preempt_mode = own_mode.empty() || own_mode == "cluster" ? accounting.preempt_mode : own_mode;
    if (!is_preempted) rules.preempt_mode = "OFF";
    std::ranges::transform(rules.preempt_mode, rules.preempt_mode.begin(), [](unsigned char letter) {
        return static_cast<char>(letter >= 'a' && letter <= 'z' ? letter - 'a' + 'A' : letter);
    });
    if (rules.preempt_mode == "OFF") return;
    rules.grace_time_s = config::parse_time_limit_s(qos.grace_time).value_or(0);
    rules.notice_s =
        rules.grace_time_s > 0 ? static_cast<std::uint32_t>(rules.grace_time_s) : accounting.kill_wait_s;
}

}  // namespace

JobAccounting job_accounting_of(slurm::ClusterConfig const& config) {
    JobAccounting accounting;
    accounting.enforces_limits = enforces_limits(config);
    accounting.preempts_by_qos = config.find("PreemptType").value_or("").ends_with("/qos");
    accounting.preempt_mode = config.find("PreemptMode").value_or("OFF");
    accounting.kill_wait_s = static_cast<std::uint32_t>(config.find_number("KillWait").value_or(30));
    return accounting;
}

JobRules find_job_rules(JobAccounting const& accounting, Pool const& pool, JobRequest const& request) {
    JobRules rules;
    auto const owner = owner_of(accounting, pool, request);
    auto const* association = find_association(accounting.rows, owner);
    if (association == nullptr) return rules;  // Slurm refuses the job
    auto const* qos = find_qos(accounting.rows, *association, owner.qos);
    if (qos != nullptr) {
        rules.qos = qos->name;
        rules.replaces_partition_time = qos->has_flag("PartitionTimeLimit");
        if (accounting.preempts_by_qos) set_preemption(rules, accounting, *qos);
    }
    if (accounting.enforces_limits)
        set_time_limit(rules, accounting.rows.find_qos(pool.partition_qos), qos, *association);
    return rules;
}

}  // namespace det::site
