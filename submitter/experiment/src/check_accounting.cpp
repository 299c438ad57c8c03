#include <det/experiment/check_accounting.hpp>
#include <det/experiment/cluster_facts.hpp>
#include <det/site/accounting_limits.hpp>

#include <fmt/format.h>

namespace det::experiment {
namespace {

bool has_accounting(slurm::ClusterConfig const& config) {
    return config.find("AccountingStorageType").value_or("").ends_with("slurmdbd");
}

/// The value that sbatch uses: that of the option in sbatch_args, else that of the pool, else that of the
/// environment variable.
std::string option_or_variable(plan::SubmissionPlan const& plan, std::string_view option,
                               std::optional<std::string> const& of_pool, char const* variable,
                               Environment const& environment) {
    if (auto const own = plan.sbatch_args.find(option)) return *own;
    if (of_pool) return *of_pool;
    return environment.find(variable).value_or("");
}

site::JobOwner owner_of(plan::SubmissionPlan const& plan, Context const& context) {
    auto const find = [&](std::string_view option, std::optional<std::string> const& of_pool,
                          char const* variable) {
        return option_or_variable(plan, option, of_pool, variable, context.environment);
    };
    return {user_name(context.environment), find("account", plan.pool.account, "SBATCH_ACCOUNT"),
            plan.pool.partition, find("qos", plan.pool.qos, "SBATCH_QOS")};
}

site::JobSize size_of(plan::SubmissionPlan const& plan) {
    return {plan.nodes(), plan.node.gpus, plan.gpu_type};
}

}  // namespace

std::optional<site::JobAccounting> find_job_accounting(slurm::ClusterConfig const& config, Context& context,
                                                       Freshness freshness) {
    auto accounting = site::job_accounting_of(config);
    bool const decides = accounting.enforces_limits || accounting.preempts_by_qos;
    if (!decides || !has_accounting(config)) return std::nullopt;
    auto rows = query_accounting(context, config, freshness);
    if (!rows) return std::nullopt;
    accounting.rows = *std::move(rows);
    accounting.user = user_name(context.environment);
    accounting.of_environment = {context.environment.find("SBATCH_ACCOUNT").value_or(""),
                                 context.environment.find("SBATCH_QOS").value_or("")};
    return accounting;
}

void warn_about_limits(plan::SubmissionPlan const& plan, Context& context) {
    auto const config = query_cluster_config(context, Freshness::recent);
    if (!config || !has_accounting(*config) || !site::enforces_limits(*config)) return;
    auto const owner = owner_of(plan, context);
    auto const accounting = query_accounting(context, *config, Freshness::recent);
    if (!accounting) return;
    for (auto const& limit : site::find_exceeded_limits(*accounting, owner, size_of(plan))) {
        context.warn({codes::slots_do_not_fit,
                      fmt::format("a trial holds {} {}, and {} has {}: Slurm never starts it", limit.asked,
                                  limit.resource, limit.whose, limit.name),
                      "use fewer slots, or ask your administrator for another account or QOS"});
    }
}

std::vector<site::Finding> find_accounting_findings(config::SiteFile const& file,
                                                    std::vector<slurm::Partition> const& partitions,
                                                    slurm::ClusterConfig const& config, Context& context) {
    if (!has_accounting(config)) return {};
    auto const user = user_name(context.environment);
    auto const accounting = query_accounting(context, config, Freshness::current);
    if (accounting)
        return site::check_accounting(site::make_site(partitions, file), config, *accounting, user);
    return {
        {site::Finding::Severity::note, "accounting",
         fmt::format("associations and limits are not known: {}", accounting.error().message),
         accounting.error().notes.empty() ? "jobs may be refused or wait" : accounting.error().notes.front(),
         "", ""}};
}

}  // namespace det::experiment
