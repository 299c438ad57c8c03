#include <det/foundation/count_text.hpp>
#include <det/site/accounting_limits.hpp>

#include <algorithm>
#include <fmt/format.h>

#include "accounting_rows.hpp"
#include "check_slurm_settings.hpp"

namespace det::site {

std::string name_of(slurm::Association const& association) {
    return association.user.empty()
               ? fmt::format("account '{}'", association.account)
               : fmt::format("user '{}' in account '{}'", association.user, association.account);
}

std::string name_of(slurm::Qos const& qos) { return fmt::format("QOS '{}'", qos.name); }

slurm::Qos const* find_qos(slurm::Accounting const& accounting, slurm::Association const& association,
                           std::string const& asked) {
    if (!asked.empty()) return accounting.find_qos(asked);
    if (!association.default_qos.empty()) return accounting.find_qos(association.default_qos);
    return accounting.find_qos("normal");  // Slurm's own default
}

slurm::Association const* find_association(slurm::Accounting const& accounting, JobOwner const& owner) {
    auto const& account = owner.account.empty() ? accounting.default_account : owner.account;
    return accounting.find(owner.user, account, owner.partition);
}

namespace {

using slurm::Accounting;
using slurm::Association;
using slurm::TresCounts;

using Severity = Finding::Severity;

/// A set of limits and its owner.
struct LimitSource {
    std::string whose;
    slurm::AccountingLimits const* limits;
};

/// Compares the amounts that a job asks for with the limits of its QOS, its association and the accounts
/// above.
class Comparison {
public:
    Comparison(Accounting const& accounting, Association const& association, slurm::Qos const* qos)
        : user_{name_of(association), &association.limits} {
        if (qos != nullptr) qos_ = LimitSource{name_of(*qos), &qos->limits};
        groups_.push_back(user_);
        for (auto const* above : accounting.ancestors(association))
            groups_.push_back({name_of(*above), &above->limits});
    }

    /// A limit of one job, which a user's association inherits from its accounts.
    void compare_first(std::string_view name, TresCounts slurm::AccountingLimits::*limit,
                       TresCounts const& asked) {
        for (auto const& [resource, count] : asked) {
            if (qos_ && compare(*qos_, name, limit, resource, count)) continue;
            compare(user_, name, limit, resource, count);
        }
    }

    /// A limit on all jobs of a group together. Unless the QOS sets it, the limits of the association and of
    /// every account above apply.
    void compare_groups(std::string_view name, TresCounts slurm::AccountingLimits::*limit,
                        TresCounts const& asked) {
        for (auto const& [resource, count] : asked) {
            if (qos_ && compare(*qos_, name, limit, resource, count)) continue;
            for (auto const& group : groups_) compare(group, name, limit, resource, count);
        }
    }

    void compare_qos(std::string_view name, TresCounts slurm::AccountingLimits::*limit,
                     TresCounts const& asked) {
        for (auto const& [resource, count] : asked) {
            if (qos_) compare(*qos_, name, limit, resource, count);
        }
    }

    std::vector<ExceededLimit> take() && { return std::move(exceeded_); }

private:
    /// \return True if the source sets the limit.
    bool compare(LimitSource const& source, std::string_view name, TresCounts slurm::AccountingLimits::*limit,
                 std::string const& resource, std::int64_t count) {
        auto const& limits = source.limits->*limit;
        auto const found = limits.find(resource);
        if (found == limits.end()) return false;
        if (count > found->second)
            exceeded_.push_back({source.whose, fmt::format("{}={}={}", name, resource, found->second),
                                 found->second, count, resource});
        return true;
    }

    LimitSource user_;
    std::optional<LimitSource> qos_;
    std::vector<LimitSource> groups_;
    std::vector<ExceededLimit> exceeded_;
};

TresCounts count_tres(std::int64_t nodes, JobSize const& size) {
    TresCounts counts;
    auto const gpus = nodes * size.gpus_per_node;
    if (gpus > 0) counts["gres/gpu"] = gpus;
    if (gpus > 0 && !size.gpu_type.empty()) counts["gres/gpu:" + size.gpu_type] = gpus;
    return counts;
}

void add_once(std::vector<Finding>& found, Finding finding) {
    bool const is_known = std::ranges::any_of(found, [&](auto const& each) {
        return each.subject == finding.subject && each.what == finding.what;
    });
    if (!is_known) found.push_back(std::move(finding));
}

void report_missing_association(JobOwner const& owner, std::string const& account,
                                std::vector<Finding>& found) {
    auto const named =
        account.empty() ? std::string("a default account") : fmt::format("account '{}'", account);
    add_once(
        found,
        {Severity::change, fmt::format("user '{}'", owner.user),
         fmt::format("the user has no association with {} in partition '{}'", named, owner.partition),
         "Slurm refuses jobs without an association", "sacctmgr",
         fmt::format("sacctmgr add user {} account={}", owner.user, account.empty() ? "ACCOUNT" : account)});
}

void check_allowed_qos(Pool const& pool, Association const& association, std::vector<Finding>& found) {
    if (!pool.qos || association.qos.empty() ||
        std::ranges::find(association.qos, *pool.qos) != association.qos.end())
        return;
    add_once(found, {Severity::change, fmt::format("pool '{}'", pool.name),
                     fmt::format("{} may not use its QOS '{}'", name_of(association), *pool.qos),
                     "Slurm refuses jobs with a QOS that the association does not have", "sacctmgr",
                     fmt::format("sacctmgr modify user {} account={} set qos+={}", association.user,
                                 association.account, *pool.qos)});
}

/// Compares a trial on one whole node with the limits. If it is within them, also compares a trial on all
/// nodes of the pool's most frequent kind.
void check_gpu_limits(Pool const& pool, Accounting const& accounting, JobOwner const& owner,
                      std::vector<Finding>& found) {
    if (pool.slot_type == SlotType::cpu) return;
    auto const exceeded = [&](std::int64_t nodes) {
        return find_exceeded_limits(accounting, owner,
                                    {nodes, pool.slots_per_node, pool.gpu_type.value_or("")});
    };
    auto const by_node = exceeded(1);
    for (auto const& limit : by_node) {
        add_once(found, {Severity::change, fmt::format("pool '{}'", pool.name),
                         fmt::format("a node has {}, and {} has {}", count_text(pool.slots_per_node, "GPU"),
                                     limit.whose, limit.name),
                         "a trial that has a whole node never starts", "sacctmgr",
                         fmt::format("a {} of at least {} for {}",
                                     limit.name.substr(0, limit.name.rfind('=')), limit.asked, limit.whose)});
    }
    if (!by_node.empty()) return;
    for (auto const& limit : exceeded(pool.node_count))
        add_once(found, {Severity::note, limit.whose,
                         fmt::format("{} limits a trial in pool '{}'", limit.name, pool.name),
                         fmt::format("the pool has {}; a trial that asks for more than {} never starts",
                                     limit.asked, limit.allowed),
                         "", ""});
}

/// Reports a QOS whose jobs are preempted before their trials have saved their work.
void check_grace(Site const& site, Pool const& pool, JobRules const& rules, std::vector<Finding>& found) {
    auto const entry = std::ranges::find(site.entries, pool.name, &config::PoolEntry::name);
    auto const wanted = grace_time_wanted_s(entry == site.entries.end() ? nullptr : &*entry);
    if (!rules.notice_s || rules.grace_time_s >= wanted) return;
    add_once(found,
             {Severity::change, fmt::format("pool '{}'", pool.name),
              fmt::format("GraceTime of its QOS '{}' is {} s, trials here need {} s", rules.qos,
                          rules.grace_time_s, wanted),
              rules.grace_time_s == 0
                  ? fmt::format("a preempted trial has KillWait, {} s, to save its work", *rules.notice_s)
                  : std::string("a preempted trial may be killed before its work is saved"),
              "sacctmgr", fmt::format("sacctmgr modify qos {} set GraceTime={}", rules.qos, wanted)});
}

void report_job_limits(std::string const& whose, slurm::AccountingLimits const& limits,
                       std::vector<Finding>& found) {
    if (limits.submit_max)
        add_once(found, {Severity::note, whose, fmt::format("MaxSubmitJobs is {}", *limits.submit_max),
                         "an experiment that has more trials is submitted as fewer jobs, which run one trial "
                         "after the other",
                         "", ""});
    if (limits.jobs_max)
        add_once(found, {Severity::note, whose, fmt::format("MaxJobs is {}", *limits.jobs_max),
                         "more trials wait", "", ""});
    if (!limits.wall_max.empty())
        add_once(found, {Severity::note, whose, fmt::format("MaxWall is {}", limits.wall_max),
                         "a trial that takes longer is queued again before its time ends", "", ""});
}

}  // namespace

bool enforces_limits(slurm::ClusterConfig const& config) {
    auto const has = [&](char const* option) {
        return config.has_option("AccountingStorageEnforce", option);
    };
    return has("limits") || has("safe") || has("all");
}

std::vector<ExceededLimit> find_exceeded_limits(Accounting const& accounting, JobOwner const& owner,
                                                JobSize const& size) {
    using Limits = slurm::AccountingLimits;
    auto const* association = find_association(accounting, owner);
    if (association == nullptr) return {};
    auto asked = count_tres(size.nodes, size);
    asked["node"] = size.nodes;
    Comparison comparison(accounting, *association, find_qos(accounting, *association, owner.qos));
    comparison.compare_first("MaxTRES", &Limits::per_job, asked);
    comparison.compare_first("MaxTRESPerNode", &Limits::per_node, count_tres(1, size));
    comparison.compare_groups("GrpTRES", &Limits::group, asked);
    comparison.compare_qos("MaxTRESPerUser", &Limits::per_user, asked);
    comparison.compare_qos("MaxTRESPerAccount", &Limits::per_account, asked);
    return std::move(comparison).take();
}

std::vector<Finding> check_accounting(Site const& site, slurm::ClusterConfig const& config,
                                      Accounting const& accounting, std::string const& user) {
    std::vector<Finding> found;
    auto job_accounting = job_accounting_of(config);
    job_accounting.rows = accounting;
    job_accounting.user = user;
    for (auto const& pool : site.pools) {
        JobOwner const owner{user, pool.account.value_or(""), pool.partition, pool.qos.value_or("")};
        auto const* association = find_association(accounting, owner);
        if (association == nullptr) {
            report_missing_association(
                owner, owner.account.empty() ? accounting.default_account : owner.account, found);
            continue;
        }
        check_allowed_qos(pool, *association, found);
        check_grace(site, pool, find_job_rules(job_accounting, pool), found);
        if (!enforces_limits(config)) continue;
        check_gpu_limits(pool, accounting, owner, found);
        report_job_limits(name_of(*association), association->limits, found);
        if (auto const* qos = find_qos(accounting, *association, owner.qos); qos != nullptr)
            report_job_limits(name_of(*qos), qos->limits, found);
    }
    return found;
}

}  // namespace det::site
