#include "output/plot.hpp"

#include <det/foundation/text.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <fmt/format.h>
#include <optional>

namespace det::cli {
namespace {

constexpr std::string_view markers = "*+xo#%@=~&";
constexpr std::array<int, 6> colours{36, 33, 35, 32, 31, 34};  // of the terminal, as ANSI codes

bool is_finite(PlotPoint const& point) { return std::isfinite(point.x) && std::isfinite(point.y); }

struct Extent {
    double low = 0, high = 0;

    void include(double value) {
        low = std::min(low, value);
        high = std::max(high, value);
    }
    /// A range of one value has no extent to draw in.
    void widen_if_empty() {
        if (low < high) return;
        auto const margin = low == 0 ? 1 : std::abs(low) / 10;
        low -= margin;
        high += margin;
    }
    /// Position of a value among `count` dots. Halves first: the difference of two numbers may overflow.
    std::int64_t dot_of(double value, std::size_t count) const {
        auto const part = (value / 2 - low / 2) / (high / 2 - low / 2);
        return std::llround(std::clamp(part, 0.0, 1.0) * static_cast<double>(count - 1));
    }
};

struct Ranges {
    Extent x, y;
};

std::optional<Ranges> find_ranges(std::vector<Curve> const& curves) {
    std::optional<Ranges> ranges;
    for (auto const& curve : curves) {
        for (auto const& point : curve.points) {
            if (!is_finite(point)) continue;
            if (!ranges) ranges = Ranges{{point.x, point.x}, {point.y, point.y}};
            ranges->x.include(point.x);
            ranges->y.include(point.y);
        }
    }
    if (ranges) {
        ranges->x.widen_if_empty();
        ranges->y.widen_if_empty();
    }
    return ranges;
}

/// A grid of characters, each of them one dot or 2 x 4 braille dots.
class Canvas {
public:
    Canvas(std::size_t width, std::size_t rows, bool is_braille)
        : columns_(width),
          rows_(rows),
          dots_x_(is_braille ? 2 : 1),
          dots_y_(is_braille ? 4 : 1),
          cells_(width * rows) {}

    void draw(Curve const& curve, std::size_t number, Ranges const& ranges) {
        std::optional<PlotPoint> last;
        for (auto const& point : curve.points) {
            if (!is_finite(point)) {
                last.reset();
                continue;
            }
            draw_line(last && last->x <= point.x ? *last : point, point, number, ranges);
            last = point;
        }
    }
    std::string render_row(std::size_t row, OutputStyle const& style) const {
        std::string text;
        for (std::size_t column = 0; column < columns_; ++column)
            text += render_cell(cells_[row * columns_ + column], style);
        return text;
    }

private:
    struct Cell {
        std::uint8_t dots = 0;
        std::size_t curve = 0;  // that was drawn last
    };

    std::string render_cell(Cell const& cell, OutputStyle const& style) const {
        if (cell.dots == 0) return " ";
        auto const mark =
            dots_x_ == 2 ? braille(cell.dots) : std::string(1, markers[cell.curve % markers.size()]);
        if (!style.has_colour) return mark;
        return fmt::format("\x1b[{}m{}\x1b[0m", colours[cell.curve % colours.size()], mark);
    }
    /// U+2800 and a bit for each dot, in UTF-8.
    static std::string braille(std::uint8_t dots) {
        return {'\xe2', static_cast<char>(0xa0 | (dots >> 6)), static_cast<char>(0x80 | (dots & 0x3f))};
    }
    void set(std::int64_t x, std::int64_t y, std::size_t curve) {
        constexpr std::uint8_t bits[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
        auto const left = static_cast<std::size_t>(x);
        auto const top = rows_ * dots_y_ - 1 - static_cast<std::size_t>(y);
        auto& cell = cells_[top / dots_y_ * columns_ + left / dots_x_];
        cell.dots = static_cast<std::uint8_t>(cell.dots | bits[top % dots_y_][left % dots_x_]);
        cell.curve = curve;
    }
    void draw_line(PlotPoint const& from, PlotPoint const& to, std::size_t curve, Ranges const& ranges) {
        auto const width = columns_ * dots_x_, height = rows_ * dots_y_;
        auto const x0 = ranges.x.dot_of(from.x, width), x1 = ranges.x.dot_of(to.x, width);
        auto const y0 = ranges.y.dot_of(from.y, height), y1 = ranges.y.dot_of(to.y, height);
        auto const steps = std::max({std::abs(x1 - x0), std::abs(y1 - y0), std::int64_t{1}});
        for (std::int64_t i = 0; i <= steps; ++i)
            set(x0 + (x1 - x0) * i / steps, y0 + (y1 - y0) * i / steps, curve);
    }

    std::size_t columns_, rows_, dots_x_, dots_y_;
    std::vector<Cell> cells_;
};

std::string number_text(double value) { return fmt::format("{:.4g}", value); }

std::string legend(std::vector<Curve> const& curves, bool is_braille, OutputStyle const& style) {
    std::string text;
    for (std::size_t i = 0; i < curves.size(); ++i) {
        auto const mark = is_braille ? "\u2501" : std::string(1, markers[i % markers.size()]);
        text += i == 0 ? "" : "  ";
        text += style.has_colour ? fmt::format("\x1b[{}m{}\x1b[0m", colours[i % colours.size()], mark) : mark;
        text += ' ' + escape_control(curves[i].label);
    }
    return text + '\n';
}

}  // namespace

std::string render_plot(std::string_view title, std::vector<Curve> const& curves, OutputStyle const& style,
                        std::size_t rows) {
    auto const ranges = find_ranges(curves);
    if (!ranges) return "";
    bool const is_braille = style.has_unicode && (style.has_colour || curves.size() < 2);
    auto const top = number_text(ranges->y.high), bottom = number_text(ranges->y.low);
    auto const middle = number_text(ranges->y.low / 2 + ranges->y.high / 2);
    auto const margin = std::max({top.size(), middle.size(), bottom.size()});
    auto const plot_columns = std::max<std::size_t>(style.columns, margin + 12) - margin - 2;
    Canvas canvas(plot_columns, rows, is_braille);
    for (std::size_t i = 0; i < curves.size(); ++i) canvas.draw(curves[i], i, *ranges);
    auto text = escape_control(title) + '\n';
    for (std::size_t row = 0; row < rows; ++row) {
        auto const label = row == 0 ? top : row + 1 == rows ? bottom : row == rows / 2 ? middle : "";
        auto line = fmt::format("{:>{}} {}{}", label, margin, style.has_unicode ? "\u2502" : "|",
                                canvas.render_row(row, style));
        line.resize(line.find_last_not_of(' ') + 1);
        text += line + '\n';
    }
    std::string axis(margin + 1, ' ');
    axis += style.has_unicode ? "\u2514" : "+";
    for (std::size_t i = 0; i < plot_columns; ++i) axis += style.has_unicode ? "\u2500" : "-";
    auto const left = number_text(ranges->x.low), right = number_text(ranges->x.high);
    text +=
        axis + '\n' + fmt::format("{:{}}{}{:>{}}\n", "", margin + 2, left, right, plot_columns - left.size());
    return curves.size() > 1 ? text + legend(curves, is_braille, style) : text;
}

}  // namespace det::cli
