#include <det/protocol/json.hpp>
#include <det/tracker/index/report_writer.hpp>

#include <cmath>
#include <cstring>
#include <optional>
#include <tuple>
#include <utility>

#include "block_rows.hpp"

namespace det::tracker::index {
namespace {

/// The value as a column holds it; nullopt if a column cannot hold it without loss.
std::optional<std::pair<double, MetricType>> to_column_value(Json const& json) {
    using Found = std::pair<double, MetricType>;
    if (json.is_boolean()) return Found{json.get<bool>() ? 1.0 : 0.0, MetricType::boolean};
    if (json.is_number_float()) return Found{json.get<double>(), MetricType::real};
    if (json.is_number_integer()) {
        Found const found{json.get<double>(), MetricType::integer};
        return metric_to_json(found.first, found.second) == json ? std::optional(found) : std::nullopt;
    }
    if (!json.is_string()) return std::nullopt;
    for (auto const value : {std::nan(""), HUGE_VAL, -HUGE_VAL}) {
        if (json == metric_to_json(value, MetricType::real)) return Found{value, MetricType::real};
    }
    return std::nullopt;
}

/// Appends reports whose values lie report by report.
void append_values(ReportColumns& reports, std::string_view values) {
    auto const width = reports.values.size();
    if (width == 0) return;
    auto const count = values.size() / (width * sizeof(double));
    for (std::size_t column = 0; column < width; ++column) {
        auto& out = reports.values[column];
        auto const before = out.size();
        out.resize(before + count);
        auto const* source = values.data() + column * sizeof(double);
        for (std::size_t i = 0; i < count; ++i, source += width * sizeof(double))
            std::memcpy(&out[before + i], source, sizeof(double));
    }
}

/// Removes all reports and keeps the memory.
void clear(ReportColumns& reports) {
    for (auto* const column : {&reports.numbers, &reports.times, &reports.steps}) column->clear();
    for (auto& column : reports.values) column.clear();
}

Status add_blocks(Database& index, std::int64_t schema, ReportColumns const& reports) {
    for (std::size_t begin = 0; begin < reports.size(); begin += reports_per_block)
        DET_TRY(
            add_block(index, schema, reports, begin, std::min(begin + reports_per_block, reports.size())));
    return Ok{};
}

Result<std::int64_t> require_schema(Database& index, std::int64_t journal, std::string const& group,
                                    std::string const& columns) {
    std::int64_t id = 0;
    DET_TRY(index.for_each(
        "SELECT schema FROM schemas WHERE journal=? AND metric_group=? AND columns=?",
        [&](Row const& row) { id = row.integer(0); }, journal, group, columns));
    if (id != 0) return id;
    DET_TRY(index.run("INSERT INTO schemas VALUES(NULL,?,?,?)", journal, group, columns));
    return index.last_row_id();
}

}  // namespace

bool ReportWriter::Key::operator<(Key const& other) const {
    if (group != other.group) return group < other.group;
    return std::ranges::lexicographical_compare(columns, other.columns, [](auto const& a, auto const& b) {
        return std::tie(a.name, a.type) < std::tie(b.name, b.type);
    });
}

ReportWriter::Pending& ReportWriter::require_pending(MetricReportView const& report) {
    if (report.schema_id < by_id_.size() && by_id_[report.schema_id] != nullptr)
        return *by_id_[report.schema_id];
    auto& pending = pending_[{report.schema.group, report.schema.columns}];
    constexpr std::uint32_t remembered_ids_max = 1 << 16;  // a damaged journal may have any number
    if (report.schema_id < remembered_ids_max) {
        if (by_id_.size() <= report.schema_id) by_id_.resize(report.schema_id + 1);
        by_id_[report.schema_id] = &pending;
    }
    return pending;
}

void ReportWriter::add(std::uint64_t number, MetricReportView const& report) {
    auto& pending = require_pending(report);
    pending.numbers.push_back(number);
    pending.times.push_back(static_cast<std::uint64_t>(report.time.microseconds));
    pending.steps.push_back(report.steps_completed);
    pending.values.append(report.values);
    pending_bytes_ += 3 * sizeof(std::uint64_t) + report.values.size();
    if (pending.size() == reports_per_block) has_full_block_ = true;
}

void ReportWriter::add(std::uint64_t number, MetricsReported const& report) {
    Key key{report.group, {}};
    std::string values;
    bool are_numbers = report.metrics->is_object();
    for (auto const& [name, json] : report.metrics->items()) {
        auto const value = to_column_value(json);
        if (!value) are_numbers = false;
        if (!are_numbers) break;
        key.columns.push_back({name, value->second});
        values.append(reinterpret_cast<char const*>(&value->first), sizeof(double));
    }
    if (!are_numbers) {
        others_.push_back({number, report.group, to_line(to_json(Record(report)))});
        pending_bytes_ += others_.back().record.size();
        return;
    }
    auto& pending = pending_[std::move(key)];
    pending.numbers.push_back(number);
    pending.times.push_back(static_cast<std::uint64_t>(report.time.microseconds));
    pending.steps.push_back(report.steps_completed);
    pending.values += values;
    pending_bytes_ += 3 * sizeof(std::uint64_t) + values.size();
    if (pending.size() == reports_per_block) has_full_block_ = true;
}

Status ReportWriter::write_schema(Key const& key, Pending& pending, std::size_t block_size_min) {
    if (pending.size() < block_size_min) return Ok{};
    DET_TRY_ASSIGN(auto const schema,
                   require_schema(index_, journal_, key.group, render_columns(key.columns)));
    ReportColumns block;
    block.values.resize(key.columns.size());
    DET_TRY_ASSIGN(auto const blocks, list_blocks(index_, schema));
    if (!blocks.empty() && blocks.back().reports < reports_per_open_block) {
        DET_TRY(load_block(index_, blocks.back(), block));
        DET_TRY(remove_block(index_, blocks.back().id));
    }
    auto const report_size_bytes = key.columns.size() * sizeof(double);
    std::size_t taken = 0;
    for (;;) {
        auto const count = std::min(reports_per_block - block.size(), pending.size() - taken);
        if (block.size() + count < block_size_min) break;
        auto const append = [&](auto& to, auto const& from) {
            auto const begin = from.begin() + static_cast<std::ptrdiff_t>(taken);
            to.insert(to.end(), begin, begin + static_cast<std::ptrdiff_t>(count));
        };
        append(block.numbers, pending.numbers);
        append(block.times, pending.times);
        append(block.steps, pending.steps);
        append_values(
            block,
            std::string_view(pending.values).substr(taken * report_size_bytes, count * report_size_bytes));
        DET_TRY(add_block(index_, schema, block, 0, block.size()));
        clear(block);
        taken += count;
    }
    auto const erase_taken = [&](auto& column, std::size_t size) {
        column.erase(column.begin(), column.begin() + static_cast<std::ptrdiff_t>(size));
    };
    erase_taken(pending.numbers, taken);
    erase_taken(pending.times, taken);
    erase_taken(pending.steps, taken);
    erase_taken(pending.values, taken * report_size_bytes);
    pending_bytes_ -= taken * (3 * sizeof(std::uint64_t) + report_size_bytes);
    return Ok{};
}

Status ReportWriter::write_full_blocks() {
    if (!std::exchange(has_full_block_, false)) return Ok{};
    for (auto& [key, pending] : pending_) DET_TRY(write_schema(key, pending, reports_per_block));
    return Ok{};
}

Status ReportWriter::write() {
    for (auto& [key, pending] : pending_) DET_TRY(write_schema(key, pending, 1));
    for (auto const& other : others_) {
        DET_TRY(index_.run("INSERT INTO other_reports VALUES(?,?,?,?)", journal_, other.number, other.group,
                           other.record));
    }
    pending_.clear();
    by_id_.clear();
    others_.clear();
    has_full_block_ = false;
    pending_bytes_ = 0;
    return Ok{};
}

Status compact_blocks(Database& index, std::int64_t journal) {
    DET_TRY_ASSIGN(auto const schemas, list_schemas(index, journal));
    for (auto const& schema : schemas) {
        DET_TRY_ASSIGN(auto const blocks, list_blocks(index, schema.id));
        std::size_t first = 0;  // block that is not full
        while (first < blocks.size() && blocks[first].reports == reports_per_block) ++first;
        if (first + 1 >= blocks.size()) continue;
        ReportColumns reports;
        reports.values.resize(schema.columns.size());
        for (auto i = first; i < blocks.size(); ++i) {
            DET_TRY(load_block(index, blocks[i], reports));
            DET_TRY(remove_block(index, blocks[i].id));
        }
        DET_TRY(add_blocks(index, schema.id, reports));
    }
    return Ok{};
}

}  // namespace det::tracker::index
