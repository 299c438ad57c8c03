#pragma once
#include <det/foundation/clock.hpp>
#include <det/protocol/record.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace det::cli {

/// When a run was within the batches that `profiling` names. Without an end: until the run's end.
struct ProfiledPeriod {
    std::optional<UtcTime> begin;
    std::optional<UtcTime> end;

    bool contains(UtcTime time) const { return (!begin || time >= *begin) && (!end || time <= *end); }
};

/// The period from the first report at `begin_on_batch` or later until the first one at `end_after_batch` or
/// later. Pure.
/// \param reports of the run's chief
/// \return nullopt if the run has not reached the first batch
std::optional<ProfiledPeriod> find_profiled_period(std::vector<MetricsReported> const& reports,
                                                   std::uint64_t begin_on_batch,
                                                   std::optional<std::uint64_t> end_after_batch);

/// A system metric of one node over a period.
struct SystemMetric {
    std::string group;
    std::string name;    // gpu_util
    std::string device;  // the GPU's UUID; empty for others
    double mean = 0;
    double max = 0;
};

/// The unit of Determined's system metrics: "%", "bytes", "GB", "bytes/s", "1/s"; empty for an unknown name.
std::string_view unit_of(std::string_view metric);

/// Summarises the reports of the period: a row for each metric, sorted by group, name and device. Pure.
std::vector<SystemMetric> summarise_metrics(std::vector<Record> const& records, ProfiledPeriod const& period);

/// A named span of a run: how often it was entered and how long it took.
struct Timing {
    double count = 0;
    double total_s = 0;
    double max_s = 0;
};

/// The timings in the reports of the group `timing`, by name. Pure.
std::map<std::string, Timing> sum_timings(std::vector<MetricsReported> const& reports,
                                          ProfiledPeriod const& period);

}  // namespace det::cli
