#include "block_rows.hpp"

#include <det/protocol/json.hpp>

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <span>

#include "column_encoding.hpp"

namespace det::tracker::index {
namespace {

constexpr std::array metric_types{MetricType::real, MetricType::integer, MetricType::boolean};

Result<std::vector<MetricColumn>> parse_columns(std::string_view text) {
    return decode_json("columns", [&] {
        std::vector<MetricColumn> columns;
        for (auto const& json : parse_json(text)) {
            auto const type = json.at(1).get<std::string>();
            auto const* const found =
                std::ranges::find_if(metric_types, [&](auto known) { return to_string(known) == type; });
            if (found == metric_types.end()) throw Json::other_error::create(501, type, nullptr);
            columns.push_back({json.at(0), *found});
        }
        return columns;
    });
}

std::int64_t column_row(std::int64_t block, std::size_t column) {
    return (block << column_bits) | static_cast<std::int64_t>(column);
}

}  // namespace

std::optional<std::size_t> SchemaRow::find_column(std::string_view name) const {
    auto const found = std::ranges::find(columns, name, &MetricColumn::name);
    if (found == columns.end()) return std::nullopt;
    return static_cast<std::size_t>(found - columns.begin());
}

std::string render_columns(std::vector<MetricColumn> const& columns) {
    auto json = Json::array();
    for (auto const& column : columns) json.push_back({column.name, to_string(column.type)});
    return to_line(json);
}

Result<std::vector<SchemaRow>> list_schemas(Database& index, std::int64_t journal) {
    std::vector<SchemaRow> schemas;
    DET_TRY(index.for_each(
        "SELECT schema, metric_group, columns FROM schemas WHERE journal=? ORDER BY schema",
        [&](Row const& row) -> Status {
            DET_TRY_ASSIGN(auto columns, parse_columns(row.bytes(2)));
            schemas.push_back({row.integer(0), row.text(1), std::move(columns)});
            return Ok{};
        },
        journal));
    return schemas;
}

Result<std::vector<BlockRow>> list_blocks(Database& index, std::int64_t schema) {
    std::vector<BlockRow> blocks;
    DET_TRY(index.for_each(
        "SELECT block, reports, first_step, last_step FROM blocks WHERE schema=? ORDER BY block",
        [&](Row const& row) {
            blocks.push_back({row.integer(0), static_cast<std::size_t>(row.integer(1)),
                              static_cast<std::uint64_t>(row.integer(2)),
                              static_cast<std::uint64_t>(row.integer(3))});
        },
        schema));
    return blocks;
}

Status load_head(Database& index, BlockRow const& block, ReportColumns& out) {
    return index.for_each(
        "SELECT numbers, times, steps FROM blocks WHERE block=?",
        [&](Row const& row) -> Status {
            DET_TRY(decode_integers(row.bytes(0), block.reports, out.numbers));
            DET_TRY(decode_integers(row.bytes(1), block.reports, out.times));
            return decode_integers(row.bytes(2), block.reports, out.steps);
        },
        block.id);
}

Status load_times_and_steps(Database& index, BlockRow const& block, std::vector<std::uint64_t>& times,
                            std::vector<std::uint64_t>& steps) {
    return index.for_each(
        "SELECT times, steps FROM blocks WHERE block=?",
        [&](Row const& row) -> Status {
            DET_TRY(decode_integers(row.bytes(0), block.reports, times));
            return decode_integers(row.bytes(1), block.reports, steps);
        },
        block.id);
}

Status load_column(Database& index, BlockRow const& block, std::size_t column, std::vector<double>& out) {
    bool found = false;
    DET_TRY(index.for_each(
        "SELECT reals FROM columns WHERE column_of_block=?",
        [&](Row const& row) {
            found = true;
            return decode_reals(row.bytes(0), block.reports, out);
        },
        column_row(block.id, column)));
    if (!found) return Error{codes::damaged, fmt::format("block {} of the index lacks a column", block.id)};
    return Ok{};
}

Status load_block(Database& index, BlockRow const& block, ReportColumns& out) {
    DET_TRY(load_head(index, block, out));
    for (std::size_t column = 0; column < out.values.size(); ++column)
        DET_TRY(load_column(index, block, column, out.values[column]));
    return Ok{};
}

Status add_block(Database& index, std::int64_t schema, ReportColumns const& reports, std::size_t begin,
                 std::size_t end) {
    auto const part = [&](std::vector<std::uint64_t> const& column) {
        return std::span(column).subspan(begin, end - begin);
    };
    auto const steps = part(reports.steps);
    auto const [lowest, highest] = std::ranges::minmax_element(steps);
    auto const numbers = encode_integers(part(reports.numbers));
    auto const times = encode_integers(part(reports.times));
    DET_TRY(index.run("INSERT INTO blocks VALUES(NULL,?,?,?,?,?,?,?)", schema, end - begin, *lowest, *highest,
                      Bytes{numbers}, Bytes{times}, Bytes{encode_integers(steps)}));
    auto const block = index.last_row_id();
    for (std::size_t column = 0; column < reports.values.size(); ++column) {
        auto const reals = std::span(reports.values[column]).subspan(begin, end - begin);
        DET_TRY(index.run("INSERT INTO columns VALUES(?,?)", column_row(block, column),
                          Bytes{encode_reals(reals)}));
    }
    return Ok{};
}

Status remove_block(Database& index, std::int64_t block) {
    DET_TRY(index.run("DELETE FROM columns WHERE column_of_block BETWEEN ? AND ?", column_row(block, 0),
                      column_row(block + 1, 0) - 1));
    return index.run("DELETE FROM blocks WHERE block=?", block);
}

}  // namespace det::tracker::index
