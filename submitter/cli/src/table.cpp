#include "table.hpp"

#include <det/foundation/text.hpp>

#include <algorithm>

namespace det::cli {
namespace {

constexpr std::string_view gap = " | ";

/// What a terminal shows of it: characters, not bytes.
std::size_t width_of(std::string_view text) {
    return static_cast<std::size_t>(std::count_if(
        text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::string render_row(std::vector<std::string> const& row, std::vector<std::size_t> const& widths) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
        if (i > 0) line += gap;
        line += row[i];
        line += std::string(widths[i] - width_of(row[i]), ' ');
    }
    return line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
}

std::string csv_cell(std::string const& cell) {
    if (cell.find_first_of(",\"") == std::string::npos) return cell;
    std::string quoted = "\"";
    for (char const c : cell) quoted += c == '"' ? "\"\"" : std::string(1, c);
    return quoted + "\"";
}

std::string csv_row(std::vector<std::string> const& row) {
    std::string line;
    for (auto const& cell : row) line += (&cell == &row.front() ? "" : ",") + csv_cell(cell);
    return line + "\n";
}

}  // namespace

void Table::add(std::vector<std::string> row) {
    for (auto& cell : row) cell = escape_control(cell);
    rows_.push_back(std::move(row));
}

std::string Table::render() const {
    std::vector<std::size_t> widths;
    for (auto const& cell : header_) widths.push_back(width_of(cell));
    for (auto const& row : rows_) {
        for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i]));
    }
    auto text = render_row(header_, widths);
    for (std::size_t i = 0; i < widths.size(); ++i)
        text += (i > 0 ? "-+-" : "") + std::string(widths[i], '-');
    text += "\n";
    for (auto const& row : rows_) text += render_row(row, widths);
    return text;
}

std::string Table::render_csv() const {
    auto text = csv_row(header_);
    for (auto const& row : rows_) text += csv_row(row);
    return text;
}

std::string short_time(std::optional<UtcTime> const& time) {
    if (!time) return "";
    auto text = format_utc(*time).substr(0, 19);
    text[10] = ' ';
    return text + "Z";
}

}  // namespace det::cli
