#include <det/foundation/bytes.hpp>
#include <det/foundation/varint.hpp>
#include <det/protocol/document.hpp>
#include <det/protocol/json.hpp>
#include <det/protocol/json_number.hpp>
#include <det/protocol/metric_frames.hpp>
#include <det/protocol/metric_schema_size.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <fmt/format.h>
#include <optional>
#include <utility>

namespace det {
namespace {

constexpr std::array<std::string_view, 3> type_names{"real", "integer", "boolean"};

// After this many schemas the ids begin again from 0, and a schema replaces the one with the same id. This
// limits the memory if a program uses a new name in every report.
constexpr std::size_t schema_limit = 4096;
constexpr std::size_t values_target_bytes = 64 << 10;  // a frame of values is ended when it has this size

std::string render_schema(std::uint32_t id, Rank rank, std::string_view group,
                          std::span<Metric const> metrics) {
    auto columns = Json::array();
    for (auto const& metric : metrics) columns.push_back({metric.name, to_string(metric.type)});
    Json schema{{"id", id}, {"group", group}, {"columns", std::move(columns)}};
    if (rank != Rank{}) schema["rank"] = rank.value;
    return to_line(schema);
}

std::uint32_t id_in(Json const& schema) {
    auto const& id = schema.at("id");
    if (!id.is_number_unsigned() || id > UINT32_MAX)
        throw Json::other_error::create(501, "'" + id.dump() + "' numbers no schema", nullptr);
    return id;
}

Error damaged(std::string_view what) {
    return Error{codes::damaged, fmt::format("a frame of metrics {}", what)};
}

}  // namespace

std::string_view to_string(MetricType type) { return type_names.at(static_cast<std::size_t>(type)); }

std::size_t schema_size_bytes_max(Rank rank, std::string_view group, std::span<Metric const> metrics,
                                  std::size_t estimate_limit_bytes) {
    constexpr std::size_t escape_size_bytes = 6;   // "\\u001f"
    constexpr std::size_t column_size_bytes = 16;  // ["","boolean"],
    constexpr std::size_t rest_size_bytes = 100;   // {"id":...,"group":"","columns":[],"rank":...}
    auto text_size_bytes = group.size();
    for (auto const& metric : metrics) text_size_bytes += metric.name.size();
    auto const estimate =
        text_size_bytes * escape_size_bytes + metrics.size() * column_size_bytes + rest_size_bytes;
    if (estimate <= estimate_limit_bytes) return estimate;
    return render_schema(schema_limit - 1, rank, group, metrics).size();
}

double MetricReportView::value(std::size_t column) const {
    return std::bit_cast<double>(read_value<std::uint64_t>(values, column * sizeof(double)));
}

Json metric_to_json(double value, MetricType type) {
    if (!std::isfinite(value)) return number_to_json(value);
    if (type == MetricType::boolean) return value != 0;
    constexpr double exact_limit = 0x1p53;  // above it a double does not hold every integer
    if (type == MetricType::integer && std::abs(value) <= exact_limit && std::trunc(value) == value)
        return static_cast<std::int64_t>(value);
    return value;
}

MetricsReported to_record(MetricReportView const& report) {
    auto metrics = Json::object();
    auto const& columns = report.schema.columns;
    for (std::size_t i = 0; i < columns.size(); ++i)
        metrics[columns[i].name] = metric_to_json(report.value(i), columns[i].type);
    return {report.time, report.schema.group, report.steps_completed, std::move(metrics), report.schema.rank};
}

void MetricFrameWriter::add(UtcTime time, std::string_view group, std::uint64_t steps_completed,
                            std::span<Metric const> metrics) {
    auto const id = require_schema(group, metrics);
    if (values_.empty()) {
        append_value(values_, time.microseconds);
        last_time_ = time;
        last_steps_ = 0;
    }
    append_varint(values_, id);
    append_varint(values_, zigzag(static_cast<std::uint64_t>(time.microseconds) -
                                  static_cast<std::uint64_t>(last_time_.microseconds)));
    append_varint(values_, zigzag(steps_completed - last_steps_));
    for (auto const& metric : metrics) append_value(values_, std::bit_cast<std::uint64_t>(metric.value));
    last_time_ = time;
    last_steps_ = steps_completed;
    if (values_.size() >= values_target_bytes) end_values();
}

std::uint32_t MetricFrameWriter::require_schema(std::string_view group, std::span<Metric const> metrics) {
    key_.assign(group);
    for (auto const& metric : metrics) {
        // Each name is preceded by its size, so that different names never give the same key.
        append_value(key_, static_cast<std::uint32_t>(metric.name.size()));
        key_ += static_cast<char>(metric.type);
        key_ += metric.name;
    }
    append_value(key_, static_cast<std::uint32_t>(group.size()));
    if (auto const found = ids_.find(key_); found != ids_.end()) return found->second;
    end_values();  // earlier reports may use the id that the new schema gets
    if (ids_.size() == schema_limit) ids_.clear();
    auto const id = static_cast<std::uint32_t>(ids_.size());
    ids_.emplace(key_, id);
    records_.push_back({RecordType::metric_schema, render_schema(id, rank_, group, metrics)});
    return id;
}

void MetricFrameWriter::end_values() {
    if (values_.empty()) return;
    records_.push_back({RecordType::metric_values, std::exchange(values_, std::string())});
}

std::vector<EncodedRecord> MetricFrameWriter::take() {
    end_values();
    return std::exchange(records_, {});
}

Status MetricFrameReader::add_schema(std::string_view payload) {
    DET_TRY_ASSIGN(
        auto schema, decode_json("metric-schema", [&] {
            auto const json = parse_json(payload);
            MetricSchema read{json.at("group"), {}, Rank{json.value("rank", 0)}};
            for (auto const& column : json.at("columns")) {
                auto const type = column.at(1).get<std::string>();
                auto const found = std::ranges::find(type_names, type);
                if (found == type_names.end())
                    throw Json::other_error::create(501, "'" + type + "' is unknown", nullptr);
                read.columns.push_back({column.at(0), static_cast<MetricType>(found - type_names.begin())});
            }
            return std::pair(id_in(json), std::move(read));
        }));
    schemas_.insert_or_assign(schema.first, std::move(schema.second));
    return Ok{};
}

Status MetricFrameReader::visit(std::string_view payload, Visitor const& visitor) const {
    ByteCursor cursor(payload);
    auto const base = cursor.take(sizeof(std::int64_t));
    if (!base) return damaged("has no time");
    auto time = read_value<std::uint64_t>(*base, 0);
    std::uint64_t steps = 0;
    while (!cursor.at_end()) {
        auto const id = cursor.take_varint();
        auto const time_change = cursor.take_varint();
        auto const steps_change = cursor.take_varint();
        if (!id || !time_change || !steps_change) return damaged("ends inside a report");
        auto const found = schemas_.find(static_cast<std::uint32_t>(*id));
        if (*id > UINT32_MAX || found == schemas_.end()) return damaged("has an unknown schema");
        auto const values = cursor.take(found->second.columns.size() * sizeof(double));
        if (!values) return damaged("ends inside a report");
        time += unzigzag(*time_change);
        steps += unzigzag(*steps_change);
        visitor({UtcTime{static_cast<std::int64_t>(time)}, steps, found->first, found->second, *values});
    }
    return Ok{};
}

}  // namespace det
