#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace det::tracker::api {

/// A point of a curve. `x` is a number of steps, or microseconds since 1970.
struct Point {
    double x = 0;
    double y = 0;
};

struct Range {
    double first = 0;
    double last = 0;  // included
};

/// Chooses the points that a plot of this width can show. The range is divided into `width` pixels of the
/// same size; of the points in each pixel the first, the last, the one with the least and the one with the
/// greatest value are kept (of equal ones the earliest), and the first NaN. Infinities are values. Pure.
/// \param points in any order; "first" means earliest in the span
/// \param width at least 1
/// \return ascending indices of the points that are kept: at most 5 * width
std::vector<std::size_t> reduce_to_pixels(std::span<Point const> points, std::size_t width, Range range);

}  // namespace det::tracker::api
