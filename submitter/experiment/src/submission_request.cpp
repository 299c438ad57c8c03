#include <det/experiment/cluster_facts.hpp>
#include <det/experiment/load_site.hpp>
#include <det/experiment/nested_launchers.hpp>
#include <det/experiment/root_directory.hpp>
#include <det/experiment/sharing.hpp>
#include <det/experiment/source_checkpoint.hpp>
#include <det/experiment/stage_files.hpp>
#include <det/experiment/submission_request.hpp>
#include <det/experiment/template_store.hpp>
#include <det/experiment/trusted_directories.hpp>
#include <det/foundation/executable.hpp>
#include <det/plan/arrays.hpp>
#include <det/plan/plan.hpp>
#include <det/site/site.hpp>

#include <array>
#include <fmt/format.h>

#include "bad_nodes.hpp"
#include "dependencies.hpp"
#include "entrypoint_file.hpp"
#include "idle_slots_warning.hpp"
#include "script_losses.hpp"

namespace det::experiment {
namespace {

Result<plan::SubmissionPlan, Diagnostics> plan_for(config::ExperimentConfig const& config,
                                                   config::SiteFile const& file, Context& context) {
    DET_TRY_ASSIGN(auto const recent, load_site(file, context, Freshness::recent));
    auto plan = plan::plan_submission(config, recent);
    if (plan || context.cache.empty()) return plan;
    // The plan may have failed because the cached partitions are out of date.
    DET_TRY_ASSIGN(auto const current, load_site(file, context, Freshness::current));
    return plan::plan_submission(config, current);
}

/// The limits of Slurm's configuration on job arrays.
struct ArrayLimits {
    std::uint32_t size_max = 1;                   // of indices
    std::optional<std::uint32_t> tasks_max = {};  // empty: there is no limit besides size_max
};

/// Does not ask Slurm for a single trial, which fits into any array.
Result<ArrayLimits> find_array_limits(plan::SubmissionPlan const& plan, Context& context) {
    if (plan.trial_count == 1) return ArrayLimits{};
    DET_TRY_ASSIGN(auto const config, query_cluster_config(context, Freshness::recent));
    DET_TRY_ASSIGN(auto const size_max, plan::array_size_max(config, plan.trial_count));
    return ArrayLimits{size_max, plan::array_tasks_max(config)};
}

/// The number of tasks of a search whose trials wait for the sampler: as many as run at once. A task claims
/// whichever trial is to be trained next.
std::uint32_t claiming_tasks(plan::SubmissionPlan const& plan, std::optional<std::uint32_t> limit) {
    auto const running = std::max(1u, std::min(plan.concurrent_trials_max, plan.trial_count) / plan.lanes);
    return std::min(running, limit.value_or(running));
}

/// Returns the time between the preemption notice and SIGKILL. Asks Slurm for its configuration only if
/// neither the QOS nor the partition sets this time.
std::optional<std::uint32_t> find_notice_time(site::Pool const& pool, Context& context) {
    if (!pool.rules.preempt_mode.empty()) return pool.rules.notice_s;
    if (auto const of_partition = site::partition_grace_time_s(pool)) return of_partition;
    auto const config = query_cluster_config(context, Freshness::recent);
    return config ? site::preemption_notice_s(pool, *config) : std::nullopt;
}

PathBases path_bases(Context const& context) {
    std::error_code failure;
    return {std::filesystem::current_path(failure), context.environment.find("HOME").value_or("")};
}

/// Completes the plan of a batch script: sets the directory in which it runs, and warns of what a preemption
/// costs it. \return The script; nothing if the entrypoint is none.
std::optional<SubmittedScript> take_script(SubmissionOptions& options, LoadedConfig& loaded,
                                           plan::SubmissionPlan& plan) {
    if (!plan.batch_script) return std::nullopt;
    bool const is_recorded = !loaded.script.has_value();
    auto script = is_recorded ? std::move(options.recorded_script) : std::move(loaded.script);
    if (is_recorded) script->name = loaded.config.slurm.batch_script;
    auto const chdir = plan.sbatch_args.find("chdir");
    plan.batch_script->working_directory = chdir ? *chdir : script->directory.string();
    if (!options.is_continuation) plan.warnings.append(find_script_losses(*script, plan, loaded.config));
    return script;
}

/// What would be packed or run has no place in a batch script.
Diagnostics check_code_of_script(SubmissionOptions const& options, bool is_script) {
    Diagnostics found;
    bool const has_code = options.code.directory || !options.code.includes.empty();
    if (is_script && has_code)
        found.report(
            Error{codes::usage, "a batch script runs where it is: no code is packed for it",
                  "leave out --include; 'slurm: {launch: script}' in a configuration runs packed code"});
    if (is_script && options.sources.is_test)
        found.report(Error{codes::usage,
                           "--test ends a program after a batch, which a batch script does not ask for",
                           "leave it out"});
    return found;
}

}  // namespace

Result<SubmissionRequest, Diagnostics> make_submission_request(SubmissionOptions options, Context& context) {
    DET_TRY_ASSIGN(auto const root, find_root(context.environment));
    DET_TRY_ASSIGN(auto const file, load_site_file(context.environment));
    auto rules = trust_rules(file);
    DET_TRY(require_trusted_root(root, rules));
    DET_TRY_ASSIGN(auto const sharing, find_sharing(root, file));
    if (options.sources.secrets)
        DET_TRY(check_trusted_directory(options.sources.secrets->parent_path(), rules));
    options.sources.site = &file;
    options.sources.sbatch_variables =
        config::parse_sbatch_variables([&](std::string_view name) { return context.environment.find(name); });
    options.sources.find_default_pools = find_default_pools_of(file, context);
    DET_TRY_ASSIGN(options.sources.shared_template_directories,
                   find_shared_template_directories(context.environment, file));
    DET_TRY_ASSIGN(auto loaded, load_config(options.sources, root, context.clock.now()));
    loaded.config.effective = with_absolute_stage(loaded.config.effective, path_bases(context));
    bool const is_script = loaded.config.slurm.launch == Launch::script;
    if (auto found = check_code_of_script(options, !loaded.config.slurm.batch_script.empty());
        found.has_errors())
        return found;
    if (!is_script) DET_TRY(check_launcher(loaded.config));
    if (options.code.directory && !is_script)
        warn_of_nested_launchers(loaded.config.entrypoint, std::array{*options.code.directory},
                                 loaded.warnings);
    context.on_warnings(loaded.warnings);
    DET_TRY_ASSIGN(auto plan, plan_for(loaded.config, file, context));
    auto script = take_script(options, loaded, plan);
    context.on_warnings(limit_idle_slots_warning(plan.warnings, plan, context));
    exclude_bad_nodes(plan, loaded.config, root, context);
    DET_TRY_ASSIGN(auto job_template, load_job_template(file));
    DET_TRY_ASSIGN(auto arrays, find_array_limits(plan, context));
    if (plan.sampler_sets_lengths) arrays.tasks_max = claiming_tasks(plan, arrays.tasks_max);
    auto const notice_s = find_notice_time(plan.pool, context);
    DET_TRY_ASSIGN(auto dependency, find_dependency(loaded.config, root, context));
    std::optional<SourceCheckpoint> source;
    if (!options.is_continuation) {
        DET_TRY_ASSIGN(source, find_source_checkpoint(loaded.config, root, context, options.trusted_owner));
    }
    DET_TRY_ASSIGN(auto staged, find_staged_files(loaded.config, context));
    return SubmissionRequest{std::move(loaded.config),
                             std::move(loaded.written),
                             options.code,
                             std::move(plan),
                             root,
                             std::move(job_template),
                             sibling_program("det-launch"),
                             arrays.size_max,
                             arrays.tasks_max,
                             notice_s,
                             options.desired,
                             options.parent,
                             options.packed_code,
                             std::move(source),
                             file.refuses_group_code ? GroupWritePolicy::refused : GroupWritePolicy::warned,
                             std::move(rules),
                             std::move(dependency),
                             std::move(script),
                             sharing,
                             std::move(staged)};
}

}  // namespace det::experiment
