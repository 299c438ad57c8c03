#include <det/foundation/text.hpp>
#include <det/plan/arrays.hpp>

#include <algorithm>
#include <cassert>
#include <fmt/format.h>

namespace det::plan {
namespace {

constexpr std::int64_t slurms_maximum = 4'000'001;  // the largest value of MaxArraySize

/// \return The beginning of the k-th of `parts` nearly equal shares of `whole`.
std::uint32_t share_begin(std::uint32_t whole, std::uint32_t parts, std::uint32_t k) {
    return static_cast<std::uint32_t>(std::uint64_t{whole} * k / parts);
}

std::uint32_t divide_up(std::uint32_t whole, std::uint32_t part) {
    return static_cast<std::uint32_t>((std::uint64_t{whole} + part - 1) / part);
}

}  // namespace

std::string JobArray::indices() const { return fmt::format("0-{}%{}", task_count() - 1, running_max); }

std::vector<JobArray> split_into_arrays(TrialLoad const& load, std::uint32_t array_size_max) {
    assert(load.trial_count > 0 && load.running_max > 0 && load.lanes > 0 && array_size_max > 0);
    auto const tasks = divide_up(load.trial_count, load.lanes);
    // A task that runs holds up to `lanes` trials.
    auto const running_max =
        load.running_max >= load.trial_count ? tasks : std::max(1u, load.running_max / load.lanes);
    if (load.tasks_max && tasks > *load.tasks_max) {
        auto const count = std::max(1u, std::min({running_max, *load.tasks_max, array_size_max}));
        return {JobArray{0, load.trial_count, count, load.lanes, count}};
    }
    auto const parts = divide_up(tasks, array_size_max);
    std::vector<JobArray> arrays;
    for (std::uint32_t k = 0; k < parts; ++k) {
        auto const first = share_begin(tasks, parts, k) * load.lanes;
        auto const end = share_begin(tasks, parts, k + 1) * load.lanes;
        auto const running = share_begin(running_max, parts, k + 1) - share_begin(running_max, parts, k);
        JobArray part{first, std::min(end, load.trial_count) - first, 1, load.lanes};
        part.running_max = std::clamp(running, 1u, part.task_count());
        arrays.push_back(part);
    }
    return arrays;
}

std::optional<std::uint32_t> array_tasks_max(slurm::ClusterConfig const& cluster) {
    auto const value = cluster.find_option_value("SchedulerParameters", "max_array_tasks");
    auto const number = value ? parse_integer<std::uint32_t>(*value) : std::nullopt;
    return number && *number > 0 ? number : std::nullopt;
}

std::uint32_t balance_lanes(std::uint32_t lanes_max, std::uint32_t running_max) {
    assert(lanes_max > 0 && running_max > 0);
    return running_max / divide_up(running_max, lanes_max);
}

Result<std::uint32_t> array_size_max(slurm::ClusterConfig const& cluster, std::uint32_t trial_count) {
    constexpr std::int64_t slurms_default = 1001;
    auto const size = cluster.find_number("MaxArraySize").value_or(slurms_default);
    auto const jobs_max = cluster.find_number("MaxJobCount");
    if (size < 1) {
        return Error{codes::not_supported, "job arrays are switched off on this cluster: MaxArraySize=0",
                     "an administrator sets MaxArraySize in slurm.conf"};
    }
    if (jobs_max && trial_count > *jobs_max) {
        return Error{codes::not_supported,
                     fmt::format("{} trials are more jobs than this cluster holds: MaxJobCount={}",
                                 trial_count, *jobs_max),
                     "make several experiments of it, one after the other"};
    }
    return static_cast<std::uint32_t>(std::min<std::int64_t>(size, slurms_maximum));
}

}  // namespace det::plan
