#include <det/tracker/api/reduce.hpp>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <random>

using namespace det::tracker::api;

namespace {

constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

struct Point {
    double x = 0, y = 0;
};

std::vector<std::size_t> reduce_to_pixels(std::vector<Point> const& points, std::size_t width, Range range) {
    std::vector<std::uint64_t> steps;
    std::vector<det::UtcTime> times;
    std::vector<double> values;
    for (auto const& point : points) {
        steps.push_back(static_cast<std::uint64_t>(point.x));
        times.push_back({static_cast<std::int64_t>(point.x)});
        values.push_back(point.y);
    }
    auto const kept = reduce_to_pixels(Columns{std::span<std::uint64_t const>(steps), values}, width, range);
    auto const by_time =
        reduce_to_pixels(Columns{std::span<det::UtcTime const>(times), values}, width, range);
    BOOST_REQUIRE((kept == by_time));
    return kept;
}

std::size_t pixel_of(double x, std::size_t width, Range range) {
    if (range.last <= range.first) return 0;
    auto const pixel = static_cast<std::size_t>((x - range.first) *
                                                (static_cast<double>(width) / (range.last - range.first)));
    return std::min(pixel, width - 1);
}

/// Least and greatest value and whether there is a NaN among these points of a pixel.
struct Extent {
    double least = infinity, greatest = -infinity;
    bool has_nan = false, has_points = false;
    bool operator==(Extent const&) const = default;
};

Extent values_of(std::vector<Point> const& points, std::vector<std::size_t> const& indices, std::size_t pixel,
                 std::size_t width, Range range) {
    Extent extent;
    for (auto const index : indices) {
        auto const& point = points[index];
        if (point.x < range.first || point.x > range.last || pixel_of(point.x, width, range) != pixel)
            continue;
        extent.has_points = true;
        if (std::isnan(point.y)) {
            extent.has_nan = true;
        } else {
            extent.least = std::min(extent.least, point.y);
            extent.greatest = std::max(extent.greatest, point.y);
        }
    }
    return extent;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(reduce)

BOOST_AUTO_TEST_CASE(no_extreme_of_any_pixel_is_lost) {
    std::mt19937 random(5);
    for (int round = 0; round < 300; ++round) {
        std::vector<Point> points(random() % 400);
        double x = 0;
        for (auto& point : points) {
            x += static_cast<double>(random() % 4);
            point.x = random() % 50 == 0 ? std::floor(x / 2) : x;  // not all in order
            auto const kind = random() % 40;
            point.y = kind == 0   ? nan_value
                      : kind == 1 ? infinity
                      : kind == 2 ? -infinity
                                  : static_cast<double>(random() % 100);
        }
        std::size_t const width = 1 + random() % 60;
        Range const range{static_cast<double>(random() % 100), 100 + static_cast<double>(random() % 900)};
        auto const kept = reduce_to_pixels(points, width, range);
        BOOST_REQUIRE(kept.size() <= 5 * width);
        BOOST_REQUIRE(std::ranges::is_sorted(kept));
        BOOST_REQUIRE((std::ranges::adjacent_find(kept) == kept.end()));
        std::vector<std::size_t> every(points.size());
        for (std::size_t at = 0; at < every.size(); ++at) every[at] = at;
        for (std::size_t pixel = 0; pixel < width; ++pixel)
            BOOST_REQUIRE((values_of(points, kept, pixel, width, range) ==
                           values_of(points, every, pixel, width, range)));
        for (auto const index : kept)
            BOOST_REQUIRE((points[index].x >= range.first && points[index].x <= range.last));
    }
}

BOOST_AUTO_TEST_CASE(few_points_are_all_kept) {
    std::vector<Point> points;
    for (int step = 0; step < 100; ++step)
        points.push_back({static_cast<double>(step), static_cast<double>(step % 7)});
    BOOST_TEST(reduce_to_pixels(points, 100, {0, 99}).size() == 100u);
}

BOOST_AUTO_TEST_CASE(the_first_and_the_last_point_are_kept) {
    std::vector<Point> points;
    for (int step = 0; step < 1000; ++step)
        points.push_back({static_cast<double>(step), step == 500 ? 9.0 : 1.0});
    auto const kept = reduce_to_pixels(points, 1, {0, 999});
    BOOST_TEST(kept == (std::vector<std::size_t>{0, 500, 999}));
}

BOOST_AUTO_TEST_CASE(a_range_without_extent_is_one_pixel) {
    std::vector<Point> const points{{5, 1}, {5, 3}, {5, 2}, {6, 9}};
    BOOST_TEST(reduce_to_pixels(points, 10, {5, 5}) == (std::vector<std::size_t>{0, 1, 2}));
    BOOST_TEST(reduce_to_pixels(points, 10, {7, 6}).empty());
    BOOST_TEST(reduce_to_pixels(std::vector<Point>(), 10, {0, 1}).empty());
    BOOST_TEST(reduce_to_pixels(std::vector<Point>(), 10,
                                {std::numeric_limits<double>::max(), std::numeric_limits<double>::lowest()})
                   .empty());
}

BOOST_AUTO_TEST_CASE(the_extent_is_that_of_all_curves) {
    std::vector<std::uint64_t> const a{5, 3, 9}, none;
    std::vector<double> const values{1, 2, 3}, no_values;
    std::vector<Columns> const curves{{std::span<std::uint64_t const>(none), no_values},
                                      {std::span<std::uint64_t const>(a), values}};
    auto const range = extent_of(curves);
    BOOST_TEST(range.first == 3);
    BOOST_TEST(range.last == 9);
    auto const empty = extent_of({});
    BOOST_TEST(empty.first > empty.last);
}

BOOST_AUTO_TEST_SUITE_END()
