#pragma once
#include <det/protocol/metric_frames.hpp>
#include <det/tracker/index/database.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace det::tracker::index {

// A column of a block has the row id block * 2^20 + column.
inline constexpr int column_bits = 20;

/// The reports of a block, or of several ones.
struct ReportColumns {
    std::vector<std::uint64_t> numbers;
    std::vector<std::uint64_t> times;  // microseconds since 1970
    std::vector<std::uint64_t> steps;
    std::vector<std::vector<double>> values;  // of each column

    std::size_t size() const { return numbers.size(); }
};

struct SchemaRow {
    std::int64_t id = 0;
    std::string group;
    std::vector<MetricColumn> columns;

    std::optional<std::size_t> find_column(std::string_view name) const;
};

std::string render_columns(std::vector<MetricColumn> const& columns);
Result<std::vector<SchemaRow>> list_schemas(Database& index, std::int64_t journal);

/// A row of the table `blocks`.
struct BlockRow {
    std::int64_t id = 0;
    std::size_t reports = 0;
    std::uint64_t first_step = 0;  // the lowest one
    std::uint64_t last_step = 0;   // the highest one
};
Result<std::vector<BlockRow>> list_blocks(Database& index, std::int64_t schema);

/// Appends the numbers, times and steps of a block to `out`.
Status load_head(Database& index, BlockRow const& block, ReportColumns& out);
/// Appends the times and steps only.
Status load_times_and_steps(Database& index, BlockRow const& block, std::vector<std::uint64_t>& times,
                            std::vector<std::uint64_t>& steps);
/// Appends the values of a column of a block to `out`.
Status load_column(Database& index, BlockRow const& block, std::size_t column, std::vector<double>& out);
/// Appends a block with all columns.
Status load_block(Database& index, BlockRow const& block, ReportColumns& out);

/// Adds a block with the reports `begin` to `end`.
Status add_block(Database& index, std::int64_t schema, ReportColumns const& reports, std::size_t begin,
                 std::size_t end);
Status remove_block(Database& index, std::int64_t block);

}  // namespace det::tracker::index
