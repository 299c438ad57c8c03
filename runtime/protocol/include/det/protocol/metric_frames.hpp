#pragma once
#include <det/foundation/clock.hpp>
#include <det/foundation/result.hpp>
#include <det/protocol/ids.hpp>
#include <det/protocol/record.hpp>

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace det {

// The binary form of metrics in a journal (journal/FORMAT.md, types 16 and 17). A report whose values are all
// numbers takes 8 bytes a value and few bytes more. The group, names and types are written once, as a schema,
// for all reports that share them. The writer forgets its schemas when there are 4096 of them.

/// How a value is shown; all are stored as 64-bit floating point numbers.
enum class MetricType : std::uint8_t { real, integer, boolean };

std::string_view to_string(MetricType type);

/// A value of a report. The name is not copied.
struct Metric {
    std::string_view name;
    double value = 0;
    MetricType type = MetricType::real;
};

struct MetricColumn {
    std::string name;
    MetricType type = MetricType::real;
    friend bool operator==(MetricColumn const&, MetricColumn const&) = default;
};

/// The group, names, types and rank of reports that share them.
struct MetricSchema {
    std::string group;
    std::vector<MetricColumn> columns;
    Rank rank = {};
    friend bool operator==(MetricSchema const&, MetricSchema const&) = default;
};

/// One report of a metric-values frame. It refers to the memory of the frame and is valid during the call of
/// the visitor.
struct MetricReportView {
    UtcTime time;
    std::uint64_t steps_completed = 0;
    std::uint32_t schema_id = 0;
    MetricSchema const& schema;
    std::string_view values;  // 8 bytes per column

    double value(std::size_t column) const;
};

/// The JSON of a value: a number, a boolean, or "NaN", "Infinity", "-Infinity".
Json metric_to_json(double value, MetricType type);
/// Converts to the record with the same contents.
MetricsReported to_record(MetricReportView const& report);

/// Encodes reports as the frames of one journal. Not thread-safe.
class MetricFrameWriter {
public:
    /// \param rank that makes the reports
    explicit MetricFrameWriter(Rank rank = {}) : rank_(rank) {}

    /// Adds a report. A name that is not UTF-8 gets replacement characters.
    void add(UtcTime time, std::string_view group, std::uint64_t steps_completed,
             std::span<Metric const> metrics);
    /// Returns the records of all reports that were added since the last call. All must be written to the
    /// journal, in this order: later records refer to the schemas among them.
    std::vector<EncodedRecord> take();

private:
    std::uint32_t require_schema(std::string_view group, std::span<Metric const> metrics);
    void end_values();

    Rank rank_;
    std::unordered_map<std::string, std::uint32_t> ids_;  // by group, types and names
    std::string key_;                                     // of the last report; kept to reuse its memory
    std::vector<EncodedRecord> records_;
    std::string values_;  // the payload of the frame that is being filled
    UtcTime last_time_;
    std::uint64_t last_steps_ = 0;
};

/// Decodes the metric frames of one journal, in their order.
class MetricFrameReader {
public:
    using Visitor = std::function<void(MetricReportView const& report)>;

    /// Reads the payload of a metric-schema frame. codes::damaged if it is none.
    Status add_schema(std::string_view payload);
    /// Calls `visitor` with each report of a metric-values frame; allocates no memory. codes::damaged if the
    /// frame is not complete or uses a schema that was not added; `visitor` has then seen the reports before
    /// the damage.
    Status visit(std::string_view payload, Visitor const& visitor) const;
    /// The schemas by their ids; a later one has replaced an earlier one of the same id.
    std::unordered_map<std::uint32_t, MetricSchema> const& schemas() const { return schemas_; }

private:
    std::unordered_map<std::uint32_t, MetricSchema> schemas_;
};

}  // namespace det
