#include "idle_slots_warning.hpp"

#include <det/foundation/local_time.hpp>
#include <det/protocol/json.hpp>

#include "private_cache.hpp"

namespace det::experiment {
namespace {

constexpr char days_file[] = "idle-slots-warned.json";  // the day of the last warning, by pool
constexpr std::size_t days_limit_bytes = std::size_t{1} << 20;

/// Returns whether the user gets the warning for the pool for the first time on this day, and records that.
bool record_warning(std::string const& pool, Context const& context) {
    if (context.cache.empty()) return true;
    auto const file = context.cache / days_file;
    auto const today = format_local(context.clock.now(), "%Y-%m-%d");
    auto cached = read_private_cache(file, days_limit_bytes);
    auto days = cached && cached->is_object() ? *std::move(cached) : Json::object();
    // Pools of two clusters may have the same name.
    auto const key = context.environment.find("SLURM_CONF").value_or("") + ':' + pool;
    if (auto const found = days.find(key); found != days.end() && *found == today) return false;
    days[key] = today;
    write_private_cache(file, days);
    return true;
}

/// Without the place in the file. What helps is in the line instead of a hint.
Error one_line(Error const& warning, plan::SubmissionPlan const& plan) {
    std::string remedy;
    if (plan.trial_count > 1)
        remedy = "; more trials share them with slurm.trials_per_node and max_concurrent_trials";
    else if (!plan.pool.has_only_whole_nodes)
        remedy = "; 'slurm: {exclusive: false}' holds only what it asks for";
    return {warning.code, warning.message + remedy};
}

}  // namespace

Diagnostics limit_idle_slots_warning(Diagnostics const& warnings, plan::SubmissionPlan const& plan,
                                     Context const& context) {
    Diagnostics limited;
    for (auto& [severity, error] : warnings.sorted()) {
        if (severity == Severity::error) {
            limited.report(error);
        } else if (error.code != codes::idle_slots) {
            limited.warn(error);
        } else if (record_warning(plan.pool.name, context)) {
            limited.warn(one_line(error, plan));
        }
    }
    return limited;
}

}  // namespace det::experiment
