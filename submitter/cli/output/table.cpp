#include "output/table.hpp"

#include <det/foundation/text.hpp>

#include <algorithm>

namespace det::cli {
namespace {

constexpr std::string_view gap = " | ";

/// Returns the number of UTF-8 characters, which is the width in terminal columns if no character is wide.
std::size_t width_of(std::string_view text) {
    return static_cast<std::size_t>(std::count_if(
        text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

void append_row(std::string& text, std::vector<std::string> const& row,
                std::vector<std::size_t> const& widths) {
    for (std::size_t i = 0; i < row.size(); ++i) {
        if (i > 0) text += gap;
        text += row[i];
        text.append(widths[i] - width_of(row[i]), ' ');
    }
    text.resize(text.find_last_not_of(' ') + 1);
    text += '\n';
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
    std::string text;
    append_row(text, header_, widths);
    for (std::size_t i = 0; i < widths.size(); ++i)
        text += (i > 0 ? "-+-" : "") + std::string(widths[i], '-');
    text += "\n";
    for (auto const& row : rows_) append_row(text, row, widths);
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
