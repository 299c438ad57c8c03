#include "output/page_text.hpp"

#include <det/foundation/text.hpp>

#include <algorithm>
#include <vector>

#include "output/table.hpp"

namespace det::cli {
namespace {

using Cells = std::vector<std::string>;

constexpr std::string_view code_indent = "    ", row_indent = "  ", column_gap = "  ", list_mark = "- ",
                           usage_heading = "## Usage";
constexpr std::size_t column_width_min = 8, summary_width_min = 24;
constexpr char group_blank = '\x1f';  // in no page

/// Cuts the first characters that fit from the front of a word that is longer than a line.
std::string_view take_front(std::string_view& word, std::size_t columns) {
    // A blank replaces half of a wide character that does not fit.
    auto const front = fit_to_width(word, columns);
    auto const same = std::ranges::mismatch(front, word).in1 - front.begin();
    auto const size = std::max<std::size_t>(static_cast<std::size_t>(same), 1);
    auto const taken = word.substr(0, size);
    word.remove_prefix(size);
    return taken;
}

/// Splits a text between words into lines of at most `columns`; a longer word is cut.
std::vector<std::string> wrap_words(std::string_view text, std::size_t columns) {
    std::vector<std::string> lines{""};
    for (auto word : split(text, ' ')) {
        if (word.empty()) continue;
        auto const used = display_width(lines.back());
        if (used > 0 && used + 1 + display_width(word) > columns) {
            lines.emplace_back();
        } else if (used > 0) {
            lines.back() += ' ';
        }
        while (display_width(word) > columns) {
            lines.back() += take_front(word, columns);
            lines.emplace_back();
        }
        lines.back() += word;
    }
    return lines;
}

/// The text without the targets of links and the marks of **bold**.
std::string without_marks(std::string_view text) {
    std::string plain;
    bool is_code = false;
    while (!text.empty()) {
        if (text.front() == '`') is_code = !is_code;
        if (is_code) {
            plain += text.front();
            text.remove_prefix(1);
            continue;
        }
        auto const label_end = text.front() == '[' ? text.find("](") : text.npos;
        auto const target_end = label_end == text.npos ? text.npos : text.find(')', label_end);
        if (target_end != text.npos) {
            plain += text.substr(1, label_end - 1);
            text.remove_prefix(target_end + 1);
        } else if (text.starts_with("**")) {
            text.remove_prefix(2);
        } else {
            plain += text.front();
            text.remove_prefix(1);
        }
    }
    return plain;
}

/// The usage with group_blank in place of the blanks in brackets.
std::string with_whole_groups(std::string_view usage) {
    std::string text(usage);
    int depth = 0;
    for (auto& character : text) {
        if (character == '[') ++depth;
        if (character == ']') --depth;
        if (character == ' ' && depth > 0) character = group_blank;
    }
    return text;
}

bool is_table_row(std::string_view line) { return line.starts_with('|'); }

/// Whether the line only separates the header of a table from its rows: "|---|---|".
bool is_rule(std::string_view line) { return line.find_first_not_of("|-: ") == line.npos; }

/// "\|" is a bar in a cell.
Cells cells_of(std::string_view row) {
    Cells cells;
    std::string cell;
    for (std::size_t i = 1; i < row.size(); ++i) {
        if (row[i] == '\\' && i + 1 < row.size() && row[i + 1] == '|') {
            cell += row[++i];
        } else if (row[i] == '|') {
            cells.push_back(without_marks(trim(cell)));
            cell.clear();
        } else {
            cell += row[i];
        }
    }
    return cells;
}

/// Renders the page block by block.
class PageText {
public:
    explicit PageText(std::size_t columns) : columns_(columns) {}

    std::string render(std::string_view page) {
        for (auto const line : split_lines(page)) add_line(line);
        flush();
        return std::move(text_);
    }

private:
    void add_line(std::string_view line) {
        if (is_table_row(line) != !rows_.empty()) flush();
        bool const is_continued = !paragraph_.empty();
        if (is_table_row(line)) {
            if (!is_rule(line)) rows_.push_back(cells_of(line));
            return;
        }
        if (line.empty() || line.starts_with('#') || (!is_continued && line.starts_with(code_indent))) {
            bool const is_command = is_usage_ && line.starts_with(code_indent);
            bool const continues_command = is_command && line.substr(code_indent.size()).starts_with(' ');
            if (!continues_command) flush();
            if (is_command) {
                usage_ += (usage_.empty() ? "" : " ") + std::string(trim(line));
                return;
            }
            if (line.starts_with('#')) is_usage_ = line == usage_heading;
            text_ += std::string(line) + '\n';
        } else if (line.starts_with(list_mark) && (!is_continued || indent_ > 0)) {
            flush();
            indent_ = list_mark.size();
            paragraph_ = line.substr(indent_);
        } else if (auto const summary = find_summary(line); summary > 0 && indent_ == 0) {
            flush();
            add_overview_row(line, summary);
        } else {
            paragraph_ += (is_continued ? " " : "") + std::string(trim(line));
        }
    }

    /// The command wraps between words, but not inside of "[--option VALUE]".
    void add_usage() {
        auto const indent = 2 * code_indent.size();
        auto lines = wrap_words(with_whole_groups(usage_), columns_ - std::min(columns_ / 2, indent));
        for (auto& each : lines) {
            std::ranges::replace(each, group_blank, ' ');
            text_ += std::string(&each == &lines.front() ? code_indent.size() : indent, ' ') + each + '\n';
        }
        usage_.clear();
    }

    /// Where the summary begins in a line "  NAME  SUMMARY"; 0 in any other line.
    static std::size_t find_summary(std::string_view line) {
        if (!line.starts_with(row_indent) || line.size() < 3 || line[2] == ' ') return 0;
        auto const gap = line.find("  ", row_indent.size());
        auto const begin = line.find_first_not_of(' ', gap);
        return gap == line.npos || begin == line.npos ? 0 : begin;
    }

    /// Where the names leave too little for the summaries, each summary is below its name.
    void add_overview_row(std::string_view line, std::size_t summary) {
        bool const is_below = summary + summary_width_min > columns_;
        auto const indent = is_below ? 2 * row_indent.size() : summary;
        auto const lines = wrap_words(line.substr(summary), columns_ - indent);
        auto const name = line.substr(0, is_below ? line.find_last_not_of(' ', summary - 1) + 1 : summary);
        text_ += std::string(name) + (is_below ? "\n" : "");
        for (auto const& each : lines) {
            bool const is_first = &each == &lines.front();
            text_ += std::string(is_first && !is_below ? 0 : indent, ' ') + each + '\n';
        }
    }

    void flush() {
        if (!rows_.empty()) add_table();
        if (!usage_.empty()) add_usage();
        rows_.clear();
        if (!paragraph_.empty()) {
            auto const lines = wrap_words(without_marks(paragraph_), columns_ - indent_);
            for (auto const& line : lines)
                text_ += (&line == &lines.front() ? std::string(list_mark.substr(0, indent_))
                                                  : std::string(indent_, ' ')) +
                         line + '\n';
        }
        paragraph_.clear();
        indent_ = 0;
    }

    /// All columns but the last have the width of their longest cell, but at most their share. The last one
    /// has the rest.
    std::vector<std::size_t> column_widths(std::size_t count) const {
        std::vector<std::size_t> widths(count, column_width_min);
        auto const share = std::max(columns_ / (count + 1), column_width_min);
        auto used = row_indent.size();
        for (std::size_t i = 0; i + 1 < count; ++i) {
            for (auto const& row : rows_) {
                if (i < row.size()) widths[i] = std::max(widths[i], display_width(row[i]));
            }
            widths[i] = std::min(widths[i], share);
            used += widths[i] + column_gap.size();
        }
        if (count > 0 && columns_ > used + column_width_min) widths.back() = columns_ - used;
        return widths;
    }

    void add_table() {
        std::size_t count = 0;
        for (auto const& row : rows_) count = std::max(count, row.size());
        auto const widths = column_widths(count);
        for (auto const& row : rows_) {
            bool const is_empty = std::ranges::all_of(row, [](auto const& cell) { return cell.empty(); });
            if (!is_empty) add_table_row(row, widths);
        }
    }

    void add_table_row(Cells const& row, std::vector<std::size_t> const& widths) {
        std::vector<std::vector<std::string>> wrapped;
        std::size_t height = 0;
        for (std::size_t i = 0; i < row.size(); ++i) {
            wrapped.push_back(wrap_words(row[i], widths[i]));
            height = std::max(height, wrapped.back().size());
        }
        for (std::size_t line = 0; line < height; ++line) {
            std::string of_row(row_indent);
            for (std::size_t i = 0; i < row.size(); ++i) {
                auto const& cell = line < wrapped[i].size() ? wrapped[i][line] : std::string();
                of_row += (i > 0 ? std::string(column_gap) : "") + fit_to_width(cell, widths[i]);
            }
            of_row.resize(of_row.find_last_not_of(' ') + 1);
            text_ += of_row + '\n';
        }
    }

    std::size_t columns_;
    std::string text_;
    std::string paragraph_;   // the lines so far
    std::size_t indent_ = 0;  // of a list item; 0: it is no item
    std::vector<Cells> rows_;
    bool is_usage_ = false;  // the section
    std::string usage_;      // a command of the section, so far
};

}  // namespace

std::string render_page(std::string_view page, std::size_t columns) { return PageText(columns).render(page); }

}  // namespace det::cli
