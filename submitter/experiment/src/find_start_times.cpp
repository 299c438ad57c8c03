#include <det/experiment/find_start_times.hpp>
#include <det/experiment/load_site.hpp>
#include <det/experiment/submit_arrays.hpp>
#include <det/foundation/text.hpp>
#include <det/plan/plan.hpp>

#include <algorithm>
#include <ctime>
#include <fmt/format.h>
#include <limits>

namespace det::experiment {
namespace {

constexpr std::int64_t hour_s = 3600;
constexpr std::int64_t usual_limits_s[] = {hour_s, 4 * hour_s, 24 * hour_s};
constexpr double size_factors[] = {1, 2, 0.5, 4, 0.25};

/// The requested number of slots first, then multiples and fractions of it.
std::vector<std::int64_t> sizes_around(std::int64_t slots) {
    std::vector<std::int64_t> sizes;
    for (auto const factor : size_factors) {
        auto const size = static_cast<double>(slots) * factor;
        auto const whole = static_cast<std::int64_t>(size);
        bool const is_new = std::ranges::find(sizes, whole) == sizes.end();
        if (is_new && static_cast<double>(whole) == size && (whole > 0 || slots == 0)) sizes.push_back(whole);
    }
    return sizes;
}

/// The sizes that are tried: those around the requested one; of an elastic trial, sizes of its range, each
/// as if it was the only one.
std::vector<std::int64_t> sizes_to_try(config::Resources const& resources) {
    if (!resources.slots_per_trial_min) return sizes_around(resources.slots_per_trial);
    std::vector<std::int64_t> sizes{resources.slots_per_trial};
    for (auto size = *resources.slots_per_trial_min; size < resources.slots_per_trial; size *= 2)
        sizes.push_back(size);
    return sizes;
}

/// The time limit of the plan, if it has one, and usual limits that the partition and the QOS allow. If
/// there are none, their limit.
std::vector<std::int64_t> time_limits_s(plan::SubmissionPlan const& plan) {
    std::vector<std::int64_t> limits;
    if (auto const own = config::parse_time_limit_s(plan.time_limit)) limits.push_back(*own);
    auto const longest_s = site::time_max_s(plan.pool);
    for (auto const usual : usual_limits_s) {
        bool const is_new = std::ranges::find(limits, usual) == limits.end();
        if (is_new && (!longest_s || usual <= *longest_s)) limits.push_back(usual);
    }
    if (limits.empty() && longest_s) limits.push_back(*longest_s);
    return limits;
}

/// The requested pool first, then those with slots of the same kind.
std::vector<site::Pool> pools_to_try(site::Site const& site, site::Pool const& requested) {
    std::vector<site::Pool> pools{requested};
    for (auto const& pool : site.pools) {
        if (pool.name != requested.name && pool.is_up && pool.slot_type == requested.slot_type)
            pools.push_back(pool);
    }
    return pools;
}

/// The plans of all pools and sizes that fit on nodes that are up, the requested one first.
std::vector<plan::SubmissionPlan> plans_to_try(SubmissionRequest const& request, site::Site const& site) {
    std::vector<plan::SubmissionPlan> plans;
    // With a partition of the user's own all pools would be that one.
    bool const has_partition = request.config.slurm.sbatch_args.find("partition").has_value();
    auto const pools =
        has_partition ? std::vector<site::Pool>{request.plan.pool} : pools_to_try(site, request.plan.pool);
    for (auto const& pool : pools) {
        for (auto const slots : sizes_to_try(request.config.resources)) {
            auto config = request.config;
            config.resources.resource_pool = pool.name;
            config.resources.slots_per_trial = slots;
            config.resources.slots_per_trial_min.reset();
            auto plan = plan::plan_submission(config, site);
            if (plan && !plan->must_wait_for_nodes()) plans.push_back(*std::move(plan));
        }
    }
    return plans;
}

std::int64_t slots_of(plan::SubmissionPlan const& plan) {
    return std::int64_t{plan.shape.nodes} * plan.shape.slots_per_node;
}

bool starts_before(StartTime const& a, StartTime const& b) {
    if (a.start.has_value() != b.start.has_value()) return a.start.has_value();
    if (a.start && a.start->microseconds != b.start->microseconds)
        return a.start->microseconds < b.start->microseconds;
    return a.slots > b.slots;
}

}  // namespace

std::optional<UtcTime> parse_local_time(std::string_view text) {
    // Slurm adds up the years that it assumes for jobs without a time limit: "10194-01-11T16:05:46".
    constexpr std::size_t year_digits_max = 4;
    auto const year = text.substr(0, text.find('-'));
    if (year.size() > year_digits_max && parse_integer<std::int64_t>(year))
        return UtcTime{std::numeric_limits<std::int64_t>::max()};
    std::tm time{};
    std::string const copy(text);
    auto const* end = ::strptime(copy.c_str(), "%Y-%m-%dT%H:%M:%S", &time);
    if (end == nullptr || *end != '\0') return std::nullopt;
    time.tm_isdst = -1;
    auto const seconds = std::mktime(&time);
    if (seconds == std::time_t{-1}) return std::nullopt;
    return UtcTime{std::int64_t{seconds} * 1'000'000};
}

Result<std::vector<StartTime>, Diagnostics> find_start_times(SubmissionOptions const& options,
                                                             Context& context) {
    DET_TRY_ASSIGN(auto request, make_submission_request(options, context));
    DET_TRY_ASSIGN(auto const file, load_site_file(context.environment));
    DET_TRY_ASSIGN(auto const site, load_site(file, context, Freshness::recent));
    DET_TRY_ASSIGN(auto const wanted, plan_accepted_arrays(request, context));
    // A limit on jobs is the same for the other plans.
    if (auto const tasks = wanted.arrays.front().task_count; tasks > 0) request.tasks_max = tasks;
    std::vector<StartTime> answers;
    std::size_t probes = 1;
    for (auto& plan : plans_to_try(request, site)) {
        for (auto const limit_s : time_limits_s(plan)) {
            if (probes++ >= start_probes_max) break;
            request.plan = plan;
            // The last --time of sbatch's command line counts.
            auto const minutes = std::max<std::int64_t>(1, limit_s / 60);
            auto const accepted = plan_accepted_arrays(request, context, {fmt::format("--time={}", minutes)});
            if (!accepted && accepted.error().code == codes::slurm_unreachable) return accepted.error();
            if (accepted)
                answers.push_back({plan.pool.name, slots_of(plan), plan.nodes(), limit_s,
                                   parse_local_time(accepted->expected_start.time),
                                   accepted->expected_start.unknown_because});
        }
    }
    std::ranges::stable_sort(answers, starts_before);
    return answers;
}

}  // namespace det::experiment
