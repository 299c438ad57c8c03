#include "prepare_creation.hpp"

#include <det/foundation/executable.hpp>
#include <det/plan/arrays.hpp>
#include <det/plan/plan.hpp>
#include <det/site/site.hpp>

#include "cluster_facts.hpp"
#include "load_site.hpp"
#include "root.hpp"
#include "test_mode.hpp"

namespace det::cli {
namespace {

Result<plan::SubmissionPlan, Diagnostics> plan_for(config::ExperimentConfig const& config,
                                                   config::SiteFile const& file, Session& session) {
    DET_TRY_ASSIGN(auto const lately, load_site(file, session, Freshness::recent));
    auto plan = plan::plan_submission(config, lately);
    if (plan || session.cache.empty()) return plan;
    // What was refused may fit since: pools and nodes change.
    DET_TRY_ASSIGN(auto const now, load_site(file, session, Freshness::now));
    return plan::plan_submission(config, now);
}

/// One trial fits into any array: Slurm is not asked for nothing.
Result<std::uint32_t> find_array_size_max(plan::SubmissionPlan const& plan, Session& session) {
    if (plan.trial_count == 1) return 1u;
    DET_TRY_ASSIGN(auto const config, find_cluster_config(session, Freshness::recent));
    return plan::array_size_max(config, plan.trial_count);
}

/// Where the partition itself says it Slurm is not asked for more.
std::optional<std::uint32_t> find_notice_time(site::Pool const& pool, Session& session) {
    if (auto const of_partition = site::preemption_notice_s(pool)) return of_partition;
    auto const config = find_cluster_config(session, Freshness::recent);
    return config ? site::preemption_notice_s(pool, *config) : std::nullopt;
}

Result<LoadedConfig, Diagnostics> load(ExperimentRequest const& request, RootLayout const& root,
                                       UtcTime now) {
    DET_TRY_ASSIGN(auto loaded, load_config(request.sources, root, now));
    if (!request.is_test) return loaded;
    auto sources = request.sources;
    auto const shorter = test_overrides(loaded.config);
    sources.overrides.insert(sources.overrides.end(), shorter.begin(), shorter.end());
    return load_config(sources, root, now);
}

}  // namespace

Result<Creation, Diagnostics> prepare_creation(ExperimentRequest request, Session& session) {
    DET_TRY_ASSIGN(auto const root, find_root(session.environment));
    DET_TRY_ASSIGN(auto const file, load_site_file(session.environment));
    request.sources.site = &file;
    request.sources.find_default_partition = default_partition_of(session);
    DET_TRY_ASSIGN(auto loaded, load(request, root, session.clock.now()));
    print(session.err, loaded.warnings, session.style);
    DET_TRY_ASSIGN(auto plan, plan_for(loaded.config, file, session));
    print(session.err, plan.warnings, session.style);
    DET_TRY_ASSIGN(auto job_template, load_job_template(file));
    DET_TRY_ASSIGN(auto const array_size_max, find_array_size_max(plan, session));
    auto const notice_s = find_notice_time(plan.pool, session);
    return Creation{std::move(loaded.config),
                    std::move(loaded.written),
                    request.code,
                    std::move(plan),
                    root,
                    std::move(job_template),
                    sibling_program("det-launch"),
                    array_size_max,
                    notice_s,
                    request.desired,
                    request.parent,
                    request.packed_code};
}

}  // namespace det::cli
