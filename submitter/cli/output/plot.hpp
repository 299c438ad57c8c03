#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "output/output_style.hpp"

namespace det::cli {

struct PlotPoint {
    double x = 0;
    double y = 0;  // NaN and infinities are gaps
};

struct Curve {
    std::string label;
    std::vector<PlotPoint> points;  // where x falls, a new line begins
};

/// Draws curves over each other, with labelled axes: with braille characters of 2 x 4 dots each; with one
/// letter or sign for each curve if the output has no Unicode, or no colours to tell several curves apart.
/// Empty if no point is finite. Pure.
/// \param rows number of lines of the plot above the x axis
std::string render_plot(std::string_view title, std::vector<Curve> const& curves, OutputStyle const& style,
                        std::size_t rows = 16);

}  // namespace det::cli
