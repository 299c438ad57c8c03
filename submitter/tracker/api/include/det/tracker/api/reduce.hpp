#pragma once
#include <det/foundation/clock.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>
#include <vector>

namespace det::tracker::api {

/// The points of a curve as two columns of the same length. x is a number of steps, or microseconds since
/// 1970.
struct Columns {
    std::variant<std::span<std::uint64_t const>, std::span<UtcTime const>> x;
    std::span<double const> y;
};

struct Range {
    double first = 0;
    double last = 0;  // included
};

/// Chooses the points that a plot of this width can show. The range is divided into `width` pixels of the
/// same size; of the points in each pixel the first, the last, the one with the least and the one with the
/// greatest value are kept (of equal ones the earliest), and the first NaN. Infinities are values. Pure.
/// \param points in any order; "first" means earliest in the columns
/// \param width at least 1
/// \return ascending indices of the points that are kept: at most 5 * width
std::vector<std::size_t> reduce_to_pixels(Columns const& points, std::size_t width, Range range);

/// The least and the greatest x of all curves. Without points, `first` is greater than `last`.
Range extent_of(std::span<Columns const> curves);

}  // namespace det::tracker::api
