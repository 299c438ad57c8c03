#include "idle_slots_warning.hpp"

#include <det/experiment/root_directory.hpp>
#include <det/foundation/files.hpp>
#include <det/protocol/json.hpp>

#include <ctime>

namespace det::experiment {
namespace {

constexpr char days_file[] = "idle-slots-warned.json";
constexpr std::size_t days_limit_bytes = std::size_t{1} << 20;

/// "2026-11-29", in local time.
std::string local_day(UtcTime time) {
    auto const seconds = static_cast<std::time_t>(time.microseconds / 1'000'000);
    std::tm local{};
    ::localtime_r(&seconds, &local);
    char text[16];
    return std::string(text, std::strftime(text, sizeof text, "%Y-%m-%d", &local));
}

/// Reads the day of the last warning by pool. Empty if the file is absent, damaged or not private to this
/// user.
Json read_days(std::filesystem::path const& file) {
    auto none = Json::object();
    if (!require_private(file.parent_path(), "", "") || !require_private(file, "", "")) return none;
    auto const text = read_file(file, days_limit_bytes);
    auto days = text ? try_parse_json(*text) : Json();
    return days.is_object() ? days : none;
}

/// Returns whether the user gets the warning for the pool for the first time on this day, and records that.
bool record_warning(std::string const& pool, Context const& context) {
    if (context.cache.empty()) return true;
    auto const file = context.cache / days_file;
    auto const today = local_day(context.clock.now());
    auto days = read_days(file);
    // Pools of two clusters may have the same name.
    auto const key = context.environment.find("SLURM_CONF").value_or("") + ':' + pool;
    if (auto const found = days.find(key); found != days.end() && *found == today) return false;
    days[key] = today;
    if (make_directories(context.cache) && require_private(context.cache, "", ""))
        (void)write_file(file, to_line(days) + "\n", 0600);
    return true;
}

/// Without the place in the file. What helps is in the line instead of a hint.
Error one_line(Error const& warning, plan::SubmissionPlan const& plan) {
    std::string remedy;
    if (plan.trial_count > 1)
        remedy = "; more trials share them with slurm.trials_per_node";
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
