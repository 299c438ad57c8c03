#include "output/table.hpp"

#include <det/foundation/local_time.hpp>
#include <det/foundation/text.hpp>

#include <algorithm>
#include <cstdint>
#include <fmt/format.h>
#include <numeric>
#include <ostream>
#include <utility>

#include "output/output_style.hpp"

namespace det::cli {
namespace {

constexpr std::string_view gap = " | ";

constexpr std::string_view cut_mark = "...";
constexpr std::size_t cut_width_min = 12;  // of a column whose cells are cut

std::string cell_text(std::string_view cell, std::size_t width) {
    auto const cell_width = display_width(cell);
    if (cell_width <= width) return std::string(cell) + std::string(width - cell_width, ' ');
    if (width < cut_mark.size()) return fit_to_width(cell, width);
    return fit_to_width(cell, width - cut_mark.size()) + std::string(cut_mark);
}

/// The blanks behind the state have no style.
std::string in_colour_of_state(std::string const& cell) {
    auto const style = style_of_state(cell);
    if (style.empty()) return cell;
    auto const end = cell.find_last_not_of(' ') + 1;
    return std::string(style) + cell.substr(0, end) + std::string(plain_style) + cell.substr(end);
}

std::vector<std::string> escaped(std::vector<std::string> cells) {
    for (auto& cell : cells) cell = escape_control(cell);
    return cells;
}

std::string csv_row(std::vector<std::string> const& row) {
    std::string line;
    for (auto const& cell : row) line += (&cell == &row.front() ? "" : ",") + csv_field(cell);
    return line + "\n";
}

struct Range {
    char32_t first, last;
};

// Unicode blocks of characters that are two columns wide: East Asian wide and fullwidth characters, emoji.
constexpr Range wide[] = {{0x1100, 0x115f},   {0x231a, 0x231b},  {0x2e80, 0x303e},   {0x3041, 0x33ff},
                          {0x3400, 0x4dbf},   {0x4e00, 0x9fff},  {0xa000, 0xa4cf},   {0xa960, 0xa97f},
                          {0xac00, 0xd7a3},   {0xf900, 0xfaff},  {0xfe10, 0xfe19},   {0xfe30, 0xfe6f},
                          {0xff00, 0xff60},   {0xffe0, 0xffe6},  {0x1f300, 0x1f64f}, {0x1f680, 0x1f6ff},
                          {0x1f900, 0x1faff}, {0x20000, 0x3fffd}};
constexpr Range combining[] = {{0x0300, 0x036f}, {0x0483, 0x0489}, {0x0591, 0x05bd}, {0x064b, 0x065f},
                               {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff}, {0x200b, 0x200f}, {0x20d0, 0x20ff},
                               {0x302a, 0x302d}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}, {0xe0100, 0xe01ef}};

template <std::size_t N>
bool is_in(Range const (&ranges)[N], char32_t character) {
    return std::any_of(std::begin(ranges), std::end(ranges), [&](auto const& range) {
        return range.first <= character && character <= range.last;
    });
}

/// A UTF-8 character and its size in bytes. A byte that is not valid UTF-8 counts as one character.
struct Character {
    char32_t code;
    std::size_t size_bytes;
    std::size_t columns() const {
        if (code < combining[0].first) return 1;  // most characters
        return is_in(combining, code) ? 0 : is_in(wide, code) ? 2 : 1;
    }
};

Character first_character(std::string_view text) {
    auto const byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    auto const lead = byte(0);
    std::size_t const size = lead < 0xc0 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    if (size == 1 || size > text.size()) return {lead, 1};
    auto code = static_cast<char32_t>(lead & (0xffu >> (size + 1)));
    for (std::size_t i = 1; i < size; ++i) code = (code << 6) | (byte(i) & 0x3fu);
    return {code, size};
}

/// The same day so many days later. It is at noon, because a day on which the clocks change has 23 or 25
/// hours.
std::tm days_later(std::tm day, int days) {
    day.tm_mday += days;
    day.tm_hour = 12;
    day.tm_isdst = -1;
    std::mktime(&day);
    return day;
}

bool is_same_day(std::tm const& a, std::tm const& b) {
    return a.tm_year == b.tm_year && a.tm_yday == b.tm_yday;
}

}  // namespace

Table::Table(std::vector<std::string> header, std::vector<std::string_view> less_important)
    : header_(escaped(std::move(header))) {
    for (auto const name : less_important) {
        auto const found = std::ranges::find(header_, name);
        if (found != header_.end())
            less_important_.push_back(static_cast<std::size_t>(found - header_.begin()));
    }
}

void Table::add(std::vector<std::string> row) { rows_.push_back(escaped(std::move(row))); }

Table::Layout Table::layout_for(std::size_t width_max) const {
    std::vector<std::size_t> widths;
    for (auto const& cell : header_) widths.push_back(display_width(cell));
    for (auto const& row : rows_) {
        for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], display_width(row[i]));
    }
    Layout layout{std::vector<std::size_t>(header_.size()), widths};
    std::iota(layout.columns.begin(), layout.columns.end(), std::size_t{0});
    auto left_out = less_important_.begin();
    for (;;) {
        auto width = gap.size() * (layout.columns.size() - 1);
        for (auto const column : layout.columns) width += widths[column];
        if (width <= width_max) return layout;
        if (left_out != less_important_.end()) {
            std::erase(layout.columns, *left_out++);
            continue;
        }
        auto const widest =
            *std::ranges::max_element(layout.columns, {}, [&](auto column) { return widths[column]; });
        auto const excess = width - width_max;
        if (layout.columns.size() == 1 || widths[widest] >= excess + cut_width_min) {
            layout.widths[widest] = widths[widest] - excess;
            return layout;
        }
        layout.columns.pop_back();
    }
}

std::string Table::render(AnswerStyle const& style) const { return render(style.columns, style.has_colour); }

std::string Table::render(std::size_t width_max, bool has_colour) const {
    auto const layout = layout_for(width_max);
    std::string text;
    auto const append_row = [&](std::vector<std::string> const& row, bool has_states) {
        for (auto const column : layout.columns) {
            if (column != layout.columns.front()) text += gap;
            auto const cell = cell_text(row[column], layout.widths[column]);
            bool const is_state = has_states && (header_[column] == "State" || header_[column] == "Status");
            text += is_state ? in_colour_of_state(cell) : cell;
        }
        text.resize(text.find_last_not_of(' ') + 1);
        text += '\n';
    };
    append_row(header_, false);
    for (auto const column : layout.columns)
        text += (column == layout.columns.front() ? "" : "-+-") + std::string(layout.widths[column], '-');
    text += '\n';
    for (auto const& row : rows_) append_row(row, has_colour);
    std::string hidden;
    for (std::size_t i = 0; i < header_.size(); ++i) {
        if (std::ranges::find(layout.columns, i) == layout.columns.end())
            hidden += (hidden.empty() ? "not shown: " : ", ") + header_[i];
    }
    return hidden.empty() ? text
                          : text + cell_text(hidden, std::min(width_max, display_width(hidden))) + '\n';
}

std::string Table::render_csv() const {
    auto text = csv_row(header_);
    for (auto const& row : rows_) text += csv_row(row);
    return text;
}

void print_table(Session const& session, Table const& table) {
    session.out << table.render(answer_style_of(session));
}

std::string short_time(std::optional<UtcTime> const& time) {
    if (!time) return "";
    auto text = format_utc(*time).substr(0, 19);
    text[10] = ' ';
    return text + "Z";
}

std::string local_time(UtcTime time, UtcTime now) {
    auto const at = to_local(time), today = to_local(now);
    auto const clock = format_local(time, "%H:%M");
    constexpr std::pair<int, char const*> names[] = {{0, "today"}, {-1, "yesterday"}, {1, "tomorrow"}};
    for (auto const& [days, name] : names) {
        if (is_same_day(at, days_later(today, days))) return fmt::format("{} {}", name, clock);
    }
    return format_local(time, "%Y-%m-%d ") + clock;
}

std::string TimeText::operator()(std::optional<UtcTime> const& time) const {
    return time && now_ ? local_time(*time, *now_) : short_time(time);
}

AnswerStyle answer_style_of(Session const& session, bool is_csv) {
    if (session.destination != Destination::terminal || is_csv) return {};
    auto const output = output_style_of(session.environment, session.destination);
    return {output.columns, output.has_colour, TimeText(session.clock.now()),
            NumberText(NumberText::For::people)};
}

std::string_view style_of_state(std::string_view state) {
    constexpr std::string_view red = "\x1b[31m", green = "\x1b[32m", yellow = "\x1b[33m", cyan = "\x1b[36m";
    constexpr std::pair<std::string_view, std::string_view> styles[] = {
        {"error", red},           {"interrupted", red}, {"completed", green},      {"running", cyan},
        {"starting", cyan},       {"queued", yellow},   {"submitting", yellow},    {"paused", yellow},
        {"waiting", yellow},      {"held", yellow},     {"canceled", faint_style}, {"deleted", faint_style},
        {"stopping", faint_style}};
    state.remove_prefix(std::min(state.find_first_not_of("0123456789 "), state.size()));
    auto const word = to_lower(state);
    for (auto const& [name, style] : styles) {
        if (word.starts_with(name)) return style;
    }
    return "";
}

std::size_t display_width(std::string_view text) {
    std::size_t columns = 0;
    while (!text.empty()) {
        auto const character = first_character(text);
        columns += character.columns();
        text.remove_prefix(character.size_bytes);
    }
    return columns;
}

std::string fit_to_width(std::string_view text, std::size_t columns) {
    std::string out;
    while (!text.empty()) {
        auto const character = first_character(text);
        if (character.columns() > columns) break;
        columns -= character.columns();
        out += text.substr(0, character.size_bytes);
        text.remove_prefix(character.size_bytes);
    }
    return out + std::string(columns, ' ');
}

}  // namespace det::cli
