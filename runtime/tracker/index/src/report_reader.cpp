#include <det/protocol/json.hpp>
#include <det/tracker/index/report_blocks.hpp>
#include <det/tracker/index/report_reader.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <set>

#include "block_rows.hpp"

namespace det::tracker::index {
namespace {

Result<MetricsReported> parse_report(std::string_view text) {
    DET_TRY_ASSIGN(auto const json, decode_json("report", [&] { return Json::parse(text); }));
    DET_TRY_ASSIGN(auto record, parse_record(json));
    if (auto* const report = std::get_if<MetricsReported>(&record)) return std::move(*report);
    return Error{codes::damaged, "a report in the index is none"};
}

/// The number that a curve shows for a JSON value.
std::optional<double> to_number(Json const& json) {
    if (json.is_number()) return json.get<double>();
    if (json == "NaN") return std::nan("");
    if (json == "Infinity") return HUGE_VAL;
    if (json == "-Infinity") return -HUGE_VAL;
    return std::nullopt;
}

template <class Visit>  // Status(number, MetricsReported)
Status visit_other_reports(Database& index, std::int64_t journal, Visit&& visit) {
    return index.for_each(
        "SELECT number, record FROM other_reports WHERE journal=? ORDER BY number",
        [&](Row const& row) -> Status {
            DET_TRY_ASSIGN(auto report, parse_report(row.bytes(1)));
            visit(static_cast<std::uint64_t>(row.integer(0)), std::move(report));
            return Ok{};
        },
        journal);
}

/// Space for the points of so many blocks is reserved at once: 8 million points.
constexpr std::size_t blocks_reserved_max = 1024;

void reserve(Series& series, std::size_t size) {
    series.numbers.reserve(size);
    series.steps.reserve(size);
    series.times.reserve(size);
    series.values.reserve(size);
}

void append(Series& series, ReportColumns const& reports, std::vector<double> const& values,
            StepRange const& range) {
    if (std::ranges::all_of(reports.steps, [&](auto step) { return range.contains(step); })) {
        series.numbers.insert(series.numbers.end(), reports.numbers.begin(), reports.numbers.end());
        series.steps.insert(series.steps.end(), reports.steps.begin(), reports.steps.end());
        for (auto const time : reports.times) series.times.push_back({static_cast<std::int64_t>(time)});
        series.values.insert(series.values.end(), values.begin(), values.end());
        return;
    }
    for (std::size_t i = 0; i < reports.size(); ++i) {
        if (!range.contains(reports.steps[i])) continue;
        series.numbers.push_back(reports.numbers[i]);
        series.steps.push_back(reports.steps[i]);
        series.times.push_back({static_cast<std::int64_t>(reports.times[i])});
        series.values.push_back(values[i]);
    }
}

Status load_from_blocks(Database& index, SchemaRow const& schema, std::size_t column, StepRange const& range,
                        Series& series) {
    DET_TRY_ASSIGN(auto const blocks, list_blocks(index, schema.id));
    reserve(series, series.size() + std::min(blocks.size(), blocks_reserved_max) * reports_per_block);
    for (auto const& block : blocks) {
        if (block.last_step < range.first || block.first_step > range.last) continue;
        ReportColumns reports;
        std::vector<double> values;
        DET_TRY(load_head(index, block, reports));
        DET_TRY(load_column(index, block, column, values));
        append(series, reports, values, range);
    }
    return Ok{};
}

Status load_from_other_reports(Database& index, std::int64_t journal, SeriesName const& name,
                               StepRange const& range, Series& series) {
    return visit_other_reports(index, journal, [&](std::uint64_t number, MetricsReported const& report) {
        if (report.group != name.group || !range.contains(report.steps_completed)) return;
        auto const found = report.metrics->find(name.name);
        auto const value = found == report.metrics->end() ? std::nullopt : to_number(*found);
        if (!value) return;
        series.numbers.push_back(number);
        series.steps.push_back(report.steps_completed);
        series.times.push_back(report.time);
        series.values.push_back(*value);
    });
}

/// Reports of several schemas come one schema after the other.
void sort_by_number(Series& series) {
    if (std::ranges::is_sorted(series.numbers)) return;
    std::vector<std::size_t> order(series.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, {}, [&](std::size_t i) { return series.numbers[i]; });
    Series sorted;
    for (auto const i : order) {
        sorted.numbers.push_back(series.numbers[i]);
        sorted.steps.push_back(series.steps[i]);
        sorted.times.push_back(series.times[i]);
        sorted.values.push_back(series.values[i]);
    }
    series = std::move(sorted);
}

}  // namespace

Result<std::vector<SeriesName>> list_series(Database& index, std::int64_t journal) {
    DET_TRY_ASSIGN(auto const schemas, list_schemas(index, journal));
    std::set<SeriesName> names;
    for (auto const& schema : schemas) {
        for (auto const& column : schema.columns)
            if (column.type != MetricType::boolean) names.insert({schema.group, column.name});
    }
    DET_TRY(visit_other_reports(index, journal, [&](std::uint64_t, MetricsReported const& report) {
        for (auto const& [name, value] : report.metrics->items())
            if (to_number(value)) names.insert({report.group, name});
    }));
    return std::vector(names.begin(), names.end());
}

Result<Series> load_series(Database& index, std::int64_t journal, SeriesName const& name,
                           StepRange const& range) {
    Series series;
    DET_TRY_ASSIGN(auto const schemas, list_schemas(index, journal));
    for (auto const& schema : schemas) {
        auto const column = schema.group == name.group ? schema.find_column(name.name) : std::nullopt;
        if (column && schema.columns[*column].type != MetricType::boolean)
            DET_TRY(load_from_blocks(index, schema, *column, range, series));
    }
    DET_TRY(load_from_other_reports(index, journal, name, range, series));
    sort_by_number(series);
    return series;
}

Result<std::vector<MetricsReported>> load_reports(Database& index, std::int64_t journal) {
    std::vector<std::pair<std::uint64_t, MetricsReported>> numbered;
    DET_TRY_ASSIGN(auto const schemas, list_schemas(index, journal));
    for (auto const& schema : schemas) {
        DET_TRY_ASSIGN(auto const blocks, list_blocks(index, schema.id));
        for (auto const& block : blocks) {
            ReportColumns reports;
            reports.values.resize(schema.columns.size());
            DET_TRY(load_block(index, block, reports));
            for (std::size_t i = 0; i < reports.size(); ++i) {
                auto metrics = Json::object();
                for (std::size_t c = 0; c < schema.columns.size(); ++c)
                    metrics[schema.columns[c].name] =
                        metric_to_json(reports.values[c][i], schema.columns[c].type);
                numbered.emplace_back(reports.numbers[i],
                                      MetricsReported{{static_cast<std::int64_t>(reports.times[i])},
                                                      schema.group,
                                                      reports.steps[i],
                                                      std::move(metrics)});
            }
        }
    }
    DET_TRY(visit_other_reports(index, journal, [&](std::uint64_t number, MetricsReported report) {
        numbered.emplace_back(number, std::move(report));
    }));
    std::ranges::sort(numbered, {}, [](auto const& entry) { return entry.first; });
    std::vector<MetricsReported> reports;
    for (auto& [number, report] : numbered) reports.push_back(std::move(report));
    return reports;
}

}  // namespace det::tracker::index
