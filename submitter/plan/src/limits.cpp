#include <det/foundation/count_text.hpp>

#include <fmt/format.h>
#include <limits>

#include "plan_steps.hpp"

namespace det::plan {
namespace {

using config::ExperimentConfig;

constexpr char args_path[] = "slurm.sbatch_args";

/// Converts a time limit to seconds. UNLIMITED and 0 become the largest value.
std::optional<std::int64_t> seconds_of(std::string const& time) {
    constexpr auto unlimited = std::numeric_limits<std::int64_t>::max();
    if (time == "UNLIMITED" || time == "INFINITE" || time == "-1") return unlimited;
    auto const seconds = config::parse_time_limit_s(time);
    return seconds && *seconds == 0 ? unlimited : seconds;
}

void check_slots(ExperimentConfig const& config, site::Pool const& pool, Diagnostics& found) {
    auto const most = pool.limits.slots_per_trial_max;
    auto const slots = config.resources.slots_per_trial;
    if (!most || slots <= *most) return;
    found.report(with_location(config, slots_path,
                               Error{codes::slots_do_not_fit,
                                     fmt::format("pool '{}' gives a trial at most {}, {} are asked for",
                                                 pool.name, count_text(*most, "slot"), slots),
                                     fmt::format("use at most {}, or another pool", *most)}));
}

void check_time(ExperimentConfig const& config, site::Pool const& pool, std::string const& asked,
                std::string const& limit, std::string const& whose, Diagnostics& found) {
    auto const wanted = seconds_of(asked);
    auto const most = seconds_of(limit);
    if (limit.empty() || !wanted || !most || *wanted <= *most) return;
    found.report(with_location(
        config, args_path,
        Error{codes::bad_value,
              fmt::format("--time={} is more than the {} that {} gives a job", asked, limit, whose),
              fmt::format("use --time={}, or another {}", limit,
                          whose == pool.rules.time_owner ? "QOS or account"
                                                         : fmt::format("pool than '{}'", pool.name))}));
}

/// A job that asks for more time than a limit waits for ever, or is refused.
void check_time_limits(ExperimentConfig const& config, SubmissionPlan const& plan, Diagnostics& found) {
    auto const& pool = plan.pool;
    auto const of_configuration = plan.sbatch_args.find("time");
    if (!of_configuration) return;
    auto const& rules = pool.rules;
    std::pair<std::string, std::string> const limits[] = {
        {pool.limits.time_max.value_or(""), fmt::format("pool '{}'", pool.name)},
        {rules.replaces_partition_time ? "" : pool.partition_time_max,
         fmt::format("partition '{}'", pool.partition)},
        {rules.time_max, rules.time_owner}};
    for (auto const& [limit, whose] : limits) {
        check_time(config, pool, *of_configuration, limit, whose, found);
        if (found.has_errors()) return;
    }
}

/// Slurm refuses a job whose shortest time limit is above its time limit.
void check_min_time(ExperimentConfig const& config, SubmissionPlan const& plan, Diagnostics& found) {
    auto const time = plan.sbatch_args.find("time").value_or(plan.time_limit);
    auto const least = seconds_of(plan.min_time);
    auto const most = seconds_of(time);
    if (!least || !most || time.empty() || *least <= *most) return;
    found.report(with_location(
        config, "slurm.min_time",
        Error{codes::bad_value,
              fmt::format("slurm.min_time is {}, more than the time limit {}", plan.min_time, time),
              fmt::format("use at most {}", time)}));
}

}  // namespace

Diagnostics check_limits(ExperimentConfig const& config, SubmissionPlan const& plan) {
    Diagnostics found;
    check_slots(config, plan.pool, found);
    check_time_limits(config, plan, found);
    check_min_time(config, plan, found);
    return found;
}

Diagnostics check_availability(ExperimentConfig const& config, SubmissionPlan const& plan) {
    Diagnostics found;
    auto const& pool = plan.pool;
    if (!pool.is_up) {
        found.warn(Error{codes::slots_do_not_fit,
                         fmt::format("partition '{}' is not up: its jobs wait", pool.partition),
                         "ask your administrator when it will be"});
        return found;
    }
    if (!plan.must_wait_for_nodes()) return found;
    auto const up = plan.nodes_up;
    found.warn(with_location(
        config, slots_path,
        Error{codes::slots_do_not_fit,
              fmt::format("a trial needs {}, and {} of those that fit {} up now: {}; it waits",
                          count_text(plan.least_nodes(), "node"), up, up == 1 ? "is" : "are", describe(pool)),
              "'sinfo -R' says why nodes are down or drained"}));
    return found;
}

}  // namespace det::plan
