#include "trial/profile_summary.hpp"

#include <det/protocol/json.hpp>

#include <algorithm>
#include <limits>
#include <tuple>

namespace det::cli {
namespace {

/// A finite number; others are strings.
std::optional<double> number(Json const& value) {
    return value.is_number() ? std::optional(value.get<double>()) : std::nullopt;
}

/// Returns "NAME" for "NAME.count" and ".count"; nullopt if the name has another ending.
std::optional<std::string> before_suffix(std::string_view name, std::string_view suffix) {
    if (!name.ends_with(suffix)) return std::nullopt;
    return std::string(name.substr(0, name.size() - suffix.size()));
}

}  // namespace

std::optional<ProfiledPeriod> find_profiled_period(std::vector<MetricsReported> const& reports,
                                                   std::uint64_t begin_on_batch,
                                                   std::optional<std::uint64_t> end_after_batch) {
    ProfiledPeriod period;
    for (auto const& report : reports) {
        if (begin_on_batch > 0 && !period.begin && report.steps_completed >= begin_on_batch)
            period.begin = report.time;
        if (end_after_batch && !period.end && report.steps_completed >= *end_after_batch)
            period.end = report.time;
    }
    if (begin_on_batch > 0 && !period.begin) return std::nullopt;
    return period;
}

std::string_view unit_of(std::string_view metric) {
    constexpr std::pair<std::string_view, std::string_view> units[] = {{"gpu_util", "%"},
                                                                       {"gpu_free_memory", "bytes"},
                                                                       {"cpu_util_simple", "%"},
                                                                       {"memory_free", "GB"},
                                                                       {"disk_iops", "1/s"},
                                                                       {"disk_throughput_read", "bytes/s"},
                                                                       {"disk_throughput_write", "bytes/s"},
                                                                       {"net_throughput_sent", "bytes/s"},
                                                                       {"net_throughput_recv", "bytes/s"}};
    auto const* const found =
        std::ranges::find(units, metric, &std::pair<std::string_view, std::string_view>::first);
    return found == std::end(units) ? "" : found->second;
}

std::vector<SystemMetric> summarise_metrics(std::vector<Record> const& records,
                                            ProfiledPeriod const& period) {
    struct Sum {
        double total = 0, max = -std::numeric_limits<double>::infinity();
        int count = 0;
    };
    std::map<std::tuple<std::string, std::string, std::string>, Sum> sums;
    for (auto const& record : records) {
        auto const* const report = std::get_if<MetricsReported>(&record);
        if (report == nullptr || !period.contains(report->time)) continue;
        for (auto const& [name, json] : report->metrics->items()) {
            auto const value = number(json);
            if (!value) continue;
            auto const space = std::min(name.find(' '), name.size());
            auto const device = space == name.size() ? std::string() : name.substr(space + 1);
            auto& sum = sums[{report->group, name.substr(0, space), device}];
            sum.total += *value;
            sum.max = std::max(sum.max, *value);
            ++sum.count;
        }
    }
    std::vector<SystemMetric> metrics;
    for (auto const& [key, sum] : sums) {
        auto const& [group, name, device] = key;
        metrics.push_back({group, name, device, sum.total / sum.count, sum.max});
    }
    return metrics;
}

std::map<std::string, Timing> sum_timings(std::vector<MetricsReported> const& reports,
                                          ProfiledPeriod const& period) {
    std::map<std::string, Timing> timings;
    for (auto const& report : reports) {
        if (report.group != "timing" || !period.contains(report.time)) continue;
        for (auto const& [name, json] : report.metrics->items()) {
            auto const value = number(json);
            if (!value) continue;
            if (auto const span = before_suffix(name, ".count")) timings[*span].count += *value;
            if (auto const span = before_suffix(name, ".total_s")) timings[*span].total_s += *value;
            if (auto const span = before_suffix(name, ".max_s")) {
                auto& max = timings[*span].max_s;
                max = std::max(max, *value);
            }
        }
    }
    return timings;
}

}  // namespace det::cli
