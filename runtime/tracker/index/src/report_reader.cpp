// Reads the reports of a journal back from the index, as single metrics or as whole reports. SCHEMA.md
// describes the tables.
//
// The points of a metric have several sources: each schema of the journal with a column of that name (a
// schema is one combination of group, names and types), and other_reports for the reports that columns cannot
// hold. The number of a report is its position among the reports of the journal. The order of the points is
// the order of these numbers.
//
// - One source, the usual case: the blocks of a schema are in the order of the numbers, so the points are
//   appended block after block. The numbers are not read, and nothing is sorted.
// - Several sources: the points of each are read with their numbers and then sorted once.
// - Steps: the steps of reports may go back in a journal, so a block has only its lowest and its highest
//   step. A block that lies outside of the range is skipped, a block inside is taken as a whole, and in all
//   other blocks each step is compared.
// - Memory: visit_series() holds one block of a metric with one source. Reserved space is limited to
//   blocks_reserved_max blocks, because the number of blocks is read from the file.
//
// The functions only read, and make several queries. A caller that needs one state of all of them begins a
// Transaction first, as IndexHistory does: the process that writes the index may join blocks in between.
#include <det/protocol/json.hpp>
#include <det/protocol/json_number.hpp>
#include <det/tracker/index/report_reader.hpp>
#include <det/tracker/index/report_writer.hpp>

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>

#include "block_rows.hpp"

namespace det::tracker::index {
namespace {

Result<MetricsReported> parse_report(std::string_view text) {
    DET_TRY_ASSIGN(auto const json, decode_json("report", [&] { return parse_json(text); }));
    DET_TRY_ASSIGN(auto record, parse_record(json));
    if (auto* const report = std::get_if<MetricsReported>(&record)) return std::move(*report);
    return Error{codes::damaged, "a report in the index is none"};
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

/// A series that is made from one or several sources.
struct NumberedSeries {
    Series series;
    std::vector<std::uint64_t> numbers;  // of the reports; only if there are several sources
    bool has_numbers = false;

    void reserve(std::size_t size) {
        if (has_numbers) numbers.reserve(size);
        series.steps.reserve(size);
        series.times.reserve(size);
        series.values.reserve(size);
    }
    void add(std::uint64_t number, std::uint64_t step, UtcTime time, double value) {
        if (has_numbers) numbers.push_back(number);
        series.steps.push_back(step);
        series.times.push_back(time);
        series.values.push_back(value);
    }
};

UtcTime to_time(std::uint64_t microseconds) { return {static_cast<std::int64_t>(microseconds)}; }

/// Appends a block whose reports are all wanted.
Status append_block(Database& index, BlockRow const& block, std::size_t column, Series& series) {
    std::vector<std::uint64_t> times;
    DET_TRY(load_times_and_steps(index, block, times, series.steps));
    auto const before = series.times.size();
    series.times.resize(before + times.size());
    std::ranges::transform(times, series.times.begin() + static_cast<std::ptrdiff_t>(before), to_time);
    return load_column(index, block, column, series.values);
}

/// Appends those reports of a block whose steps are in the range.
Status append_part(Database& index, BlockRow const& block, std::size_t column, StepRange const& range,
                   NumberedSeries& out) {
    ReportColumns reports;
    std::vector<double> values;
    DET_TRY(load_head(index, block, reports));
    DET_TRY(load_column(index, block, column, values));
    for (std::size_t i = 0; i < reports.size(); ++i) {
        if (range.contains(reports.steps[i]))
            out.add(reports.numbers[i], reports.steps[i], to_time(reports.times[i]), values[i]);
    }
    return Ok{};
}

/// Where a metric is: a schema of the journal and its column.
struct Source {
    std::int64_t schema = 0;
    std::size_t column = 0;
};

Status load_from_blocks(Database& index, Source const& source, StepRange const& range, NumberedSeries& out) {
    DET_TRY_ASSIGN(auto const blocks, list_blocks(index, source.schema));
    out.reserve(out.series.size() + std::min(blocks.size(), blocks_reserved_max) * reports_per_block);
    for (auto const& block : blocks) {
        if (block.last_step < range.first || block.first_step > range.last) continue;
        bool const is_whole = range.contains(block.first_step) && range.contains(block.last_step);
        DET_TRY(is_whole && !out.has_numbers ? append_block(index, block, source.column, out.series)
                                             : append_part(index, block, source.column, range, out));
    }
    return Ok{};
}

Result<NumberedSeries> load_from_other_reports(Database& index, std::int64_t journal, SeriesName const& name,
                                               StepRange const& range) {
    NumberedSeries found;
    found.has_numbers = true;
    DET_TRY(visit_other_reports(index, journal, [&](std::uint64_t number, MetricsReported const& report) {
        if (report.group != name.group || !range.contains(report.steps_completed)) return;
        auto const metric = report.metrics->find(name.name);
        auto const value = metric == report.metrics->end() ? std::nullopt : number_from_json(*metric);
        if (value) found.add(number, report.steps_completed, report.time, *value);
    }));
    return found;
}

Result<std::vector<Source>> list_sources(Database& index, std::int64_t journal, SeriesName const& name) {
    DET_TRY_ASSIGN(auto const schemas, list_schemas(index, journal));
    std::vector<Source> sources;
    for (auto const& schema : schemas) {
        auto const column = schema.group == name.group ? schema.find_column(name.name) : std::nullopt;
        if (column && schema.columns[*column].type != MetricType::boolean)
            sources.push_back({schema.id, *column});
    }
    return sources;
}

/// Sorts points by the number of their report: points of several sources come one source after the other.
Series sort_by_number(NumberedSeries unsorted) {
    auto const& [series, numbers, has_numbers] = unsorted;
    if (!has_numbers || std::ranges::is_sorted(numbers)) return std::move(unsorted.series);
    std::vector<std::size_t> order(series.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, {}, [&](std::size_t i) { return unsorted.numbers[i]; });
    Series sorted;
    for (auto const i : order) {
        sorted.steps.push_back(series.steps[i]);
        sorted.times.push_back(series.times[i]);
        sorted.values.push_back(series.values[i]);
    }
    return sorted;
}

/// \param others the points that are in no block
Result<Series> join_sources(Database& index, std::vector<Source> const& sources, NumberedSeries others,
                            StepRange const& range) {
    auto joined = std::move(others);
    joined.has_numbers = sources.size() > 1 || joined.series.size() > 0;
    for (auto const& source : sources) DET_TRY(load_from_blocks(index, source, range, joined));
    return sort_by_number(std::move(joined));
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
            if (number_from_json(value)) names.insert({report.group, name});
    }));
    return std::vector(names.begin(), names.end());
}

Result<Series> load_series(Database& index, std::int64_t journal, SeriesName const& name,
                           StepRange const& range) {
    DET_TRY_ASSIGN(auto const sources, list_sources(index, journal, name));
    DET_TRY_ASSIGN(auto others, load_from_other_reports(index, journal, name, range));
    return join_sources(index, sources, std::move(others), range);
}

Status visit_series(Database& index, std::int64_t journal, SeriesName const& name,
                    std::function<void(history::SeriesPart const&)> const& visit) {
    DET_TRY_ASSIGN(auto const sources, list_sources(index, journal, name));
    DET_TRY_ASSIGN(auto others, load_from_other_reports(index, journal, name, {}));
    if (sources.size() != 1 || others.series.size() > 0) {
        DET_TRY_ASSIGN(auto const series, join_sources(index, sources, std::move(others), {}));
        visit({series.steps, series.times, series.values});
        return Ok{};
    }
    DET_TRY_ASSIGN(auto const blocks, list_blocks(index, sources[0].schema));
    Series part;
    for (auto const& block : blocks) {
        part.clear();
        DET_TRY(append_block(index, block, sources[0].column, part));
        visit({part.steps, part.times, part.values});
    }
    return Ok{};
}

Result<std::optional<StepRange>> find_step_range(Database& index, std::int64_t journal,
                                                 SeriesName const& name) {
    DET_TRY_ASSIGN(auto const sources, list_sources(index, journal, name));
    DET_TRY_ASSIGN(auto const others, load_from_other_reports(index, journal, name, {}));
    std::optional<StepRange> found;
    auto const extend_to = [&](std::uint64_t step) {
        if (!found) found = StepRange{step, step};
        found->first = std::min(found->first, step);
        found->last = std::max(found->last, step);
    };
    std::ranges::for_each(others.series.steps, extend_to);
    for (auto const& source : sources) {
        DET_TRY_ASSIGN(auto const blocks, list_blocks(index, source.schema));
        for (auto const& block : blocks) {
            extend_to(block.first_step);
            extend_to(block.last_step);
        }
    }
    return found;
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
