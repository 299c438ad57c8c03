#pragma once
#include <det/foundation/clock.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace det::cli {

/// Rows in aligned columns, as commands print them. Control bytes in the header and in cells are escaped.
class Table {
public:
    explicit Table(std::vector<std::string> header);
    void add(std::vector<std::string> row);
    std::string render() const;
    /// Renders the rows as comma-separated values, which spreadsheets can read.
    std::string render_csv() const;

private:
    std::vector<std::string> header_;
    std::vector<std::vector<std::string>> rows_;
};

/// Returns the time as "2026-11-21 08:15:30Z"; an empty text if there is no time.
std::string short_time(std::optional<UtcTime> const& time);

/// Returns the number of terminal columns that the text needs: two for a wide character, none for a combining
/// mark. The caller must have escaped control bytes.
std::size_t display_width(std::string_view text);

/// Cuts the text or appends blanks, so that it has exactly `columns` columns. Never cuts within a character.
std::string fit_to_width(std::string_view text, std::size_t columns);

}  // namespace det::cli
