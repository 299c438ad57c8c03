#pragma once
#include <det/foundation/clock.hpp>
#include <det/protocol/metric_frames.hpp>
#include <det/protocol/record.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

// The entries of the ReportRing: a report of metrics, or an encoded record. They do not leave the process.
namespace det::telemetry {

struct MetricsEntry {
    UtcTime time;
    std::uint64_t steps_completed = 0;
    std::string_view group;
    std::span<Metric const> metrics;
};

std::size_t entry_size_bytes(MetricsEntry const& entry);
void write_entry(char* bytes, MetricsEntry const& entry);

std::size_t entry_size_bytes(EncodedRecord const& record);
void write_entry(char* bytes, EncodedRecord const& record);

/// The record of an entry; nullopt if it holds metrics.
std::optional<EncodedRecord> read_record(std::string_view entry);
/// Reads an entry that holds metrics. The result refers to `entry` and `metrics`.
MetricsEntry read_metrics(std::string_view entry, std::vector<Metric>& metrics);

}  // namespace det::telemetry
