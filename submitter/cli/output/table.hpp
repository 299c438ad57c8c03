#pragma once
#include <det/foundation/clock.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "output/value_text.hpp"

namespace det::cli {

struct AnswerStyle;
struct Session;

/// Rows in aligned columns, as commands print them. Control bytes in the header and in cells are escaped.
class Table {
public:
    static constexpr std::size_t any_width = SIZE_MAX;

    /// \param less_important headers of columns that a narrow terminal does not show, the least important
    /// first
    explicit Table(std::vector<std::string> header, std::vector<std::string_view> less_important = {});
    void add(std::vector<std::string> row);
    /// Leaves out columns until the lines have at most `width_max` terminal columns: first the less important
    /// ones, then those on the right, never the first. Where that is enough, cuts the cells of the widest
    /// column instead. A last line names what was left out.
    /// \param has_colour whether states have colours: cells of columns with the header State or Status
    std::string render(std::size_t width_max = any_width, bool has_colour = false) const;
    std::string render(AnswerStyle const& style) const;
    /// Renders the rows as comma-separated values, which spreadsheets can read.
    std::string render_csv() const;

private:
    struct Layout {
        std::vector<std::size_t> columns;  // that are shown, in their order
        std::vector<std::size_t> widths;   // of all columns
    };
    Layout layout_for(std::size_t width_max) const;

    std::vector<std::string> header_;
    std::vector<std::size_t> less_important_;
    std::vector<std::vector<std::string>> rows_;
};

/// Prints the table as the answer: with all columns, or on a terminal with those that fit.
void print_table(Session const& session, Table const& table);

/// Returns the time as "2026-11-21 08:15:30Z"; an empty text if there is no time.
std::string short_time(std::optional<UtcTime> const& time);

/// Returns the time in the time zone of this process: "today 14:03", "yesterday 14:03", "tomorrow 14:03", or
/// "2026-11-21 14:03" on any other day.
std::string local_time(UtcTime time, UtcTime now);

/// Renders times for people on a terminal (local_time), or for programs (short_time).
class TimeText {
public:
    TimeText() = default;  // for programs
    explicit TimeText(UtcTime now) : now_(now) {}
    std::string operator()(std::optional<UtcTime> const& time) const;

private:
    std::optional<UtcTime> now_;
};

/// How a command shows its answer: for people on a terminal, and there with its width and colours; for
/// programs in pipes, files and comma-separated values.
struct AnswerStyle {
    std::size_t columns = Table::any_width;
    bool has_colour = false;
    TimeText time;
    NumberText number;
};
AnswerStyle answer_style_of(Session const& session, bool is_csv = false);

/// The style of a state in a table ("RUNNING", "2 running, 38 waiting"); empty for any other text. Pure.
std::string_view style_of_state(std::string_view state);

/// Returns the number of terminal columns that the text needs: two for a wide character, none for a combining
/// mark. The caller must have escaped control bytes.
std::size_t display_width(std::string_view text);

/// Cuts the text or appends blanks, so that it has exactly `columns` columns. Never cuts within a character.
std::string fit_to_width(std::string_view text, std::size_t columns);

}  // namespace det::cli
