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

    void add(std::span<double const> y, std::size_t index) {
        if (first == none) first = index;
        last = index;
        if (std::isnan(y[index])) {
            if (not_a_number == none) not_a_number = index;
            return;
        }
        if (least == none || y[index] < y[least]) least = index;
        if (greatest == none || y[index] > y[greatest]) greatest = index;
    }
    std::array<std::size_t, 5> kept() const { return {first, last, least, greatest, not_a_number}; }
};

double as_number(std::uint64_t steps) { return static_cast<double>(steps); }
double as_number(UtcTime time) { return static_cast<double>(time.microseconds); }

template <class X>
void add_points(std::vector<Pixel>& pixels, std::span<X const> xs, std::span<double const> ys, Range range) {
    auto const span = range.last - range.first;
    auto const per_x = span > 0 ? static_cast<double>(pixels.size()) / span : 0;
    for (std::size_t index = 0; index < ys.size(); ++index) {
        auto const x = as_number(xs[index]);
        if (!(x >= range.first && x <= range.last)) continue;
        auto const pixel = static_cast<std::size_t>((x - range.first) * per_x);
        pixels[std::min(pixel, pixels.size() - 1)].add(ys, index);
    }
}

}  // namespace

std::vector<std::size_t> reduce_to_pixels(Columns const& points, std::size_t width, Range range) {
    assert(width > 0);
    std::vector<Pixel> pixels(width);
    std::visit([&](auto xs) { add_points(pixels, xs, points.y, range); }, points.x);
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

Range extent_of(std::span<Columns const> curves) {
    Range range{std::numeric_limits<double>::max(), std::numeric_limits<double>::lowest()};
    for (auto const& curve : curves) {
        std::visit(
            [&](auto xs) {
                if (xs.empty()) return;
                auto const [least, greatest] = std::ranges::minmax(xs);
                range.first = std::min(range.first, as_number(least));
                range.last = std::max(range.last, as_number(greatest));
            },
            curve.x);
    }
    return range;
}

}  // namespace det::tracker::api
