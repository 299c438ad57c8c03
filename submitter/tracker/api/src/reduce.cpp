#include <det/tracker/api/reduce.hpp>

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <limits>

namespace det::tracker::api {
namespace {

constexpr auto none = std::numeric_limits<std::size_t>::max();

/// The indices of the points of a pixel that are kept.
struct Pixel {
    std::size_t first = none, last = none, least = none, greatest = none, not_a_number = none;

    void add(std::span<Point const> points, std::size_t index) {
        auto const y = points[index].y;
        if (first == none) first = index;
        last = index;
        if (std::isnan(y)) {
            if (not_a_number == none) not_a_number = index;
            return;
        }
        if (least == none || y < points[least].y) least = index;
        if (greatest == none || y > points[greatest].y) greatest = index;
    }
    std::array<std::size_t, 5> kept() const { return {first, last, least, greatest, not_a_number}; }
};

}  // namespace

std::vector<std::size_t> reduce_to_pixels(std::span<Point const> points, std::size_t width, Range range) {
    assert(width > 0);
    std::vector<Pixel> pixels(width);
    auto const span = range.last - range.first;
    auto const per_x = span > 0 ? static_cast<double>(width) / span : 0;
    for (std::size_t index = 0; index < points.size(); ++index) {
        auto const x = points[index].x;
        if (!(x >= range.first && x <= range.last)) continue;
        auto const pixel = static_cast<std::size_t>((x - range.first) * per_x);
        pixels[std::min(pixel, width - 1)].add(points, index);
    }
    std::vector<std::size_t> kept;
    for (auto const& pixel : pixels) {
        for (auto const index : pixel.kept()) {
            if (index != none) kept.push_back(index);
        }
    }
    std::ranges::sort(kept);
    auto const repeated = std::ranges::unique(kept);
    kept.erase(repeated.begin(), repeated.end());
    return kept;
}

}  // namespace det::tracker::api
