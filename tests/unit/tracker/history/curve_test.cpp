#include <det/tracker/history/curve.hpp>
#include <det/tracker/history/history.hpp>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <random>

using namespace det::tracker::history;
using Range = AxisRange;

namespace {

constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

struct Point {
    double x = 0, y = 0;
};

/// Reduces points that are given in pieces of `piece` points. Returns the indices of those that are kept.
std::vector<std::size_t> reduce(Axis axis, std::vector<Point> const& points, std::size_t width, Range range,
                                std::size_t piece) {
    CurveDownsampler reducer(axis, width, range);
    for (std::size_t begin = 0; begin < points.size(); begin += piece) {
        std::vector<std::uint64_t> steps;
        std::vector<det::UtcTime> times;
        std::vector<double> values;
        for (auto i = begin; i < std::min(begin + piece, points.size()); ++i) {
            // The other axis has the number of the point.
            auto const x = static_cast<std::uint64_t>(points[i].x);
            steps.push_back(axis == Axis::steps ? x : i);
            times.push_back({static_cast<std::int64_t>(axis == Axis::steps ? i : x)});
            values.push_back(points[i].y);
        }
        reducer.add({steps, times, values});
    }
    auto const curve = reducer.finish(7);
    BOOST_REQUIRE(curve.run == 7u);
    BOOST_REQUIRE(curve.points == points.size());
    std::vector<std::size_t> kept;
    for (std::size_t i = 0; i < curve.values.size(); ++i) {
        auto const number = axis == Axis::steps ? static_cast<std::uint64_t>(curve.times.at(i).microseconds)
                                                : curve.steps.at(i);
        auto const& point = points.at(number);
        auto const x = axis == Axis::steps ? curve.steps.at(i)
                                           : static_cast<std::uint64_t>(curve.times.at(i).microseconds);
        BOOST_REQUIRE(static_cast<double>(x) == point.x);
        BOOST_REQUIRE((curve.values[i] == point.y || (std::isnan(curve.values[i]) && std::isnan(point.y))));
        kept.push_back(number);
    }
    return kept;
}

std::vector<std::size_t> reduce_to_pixels(std::vector<Point> const& points, std::size_t width, Range range) {
    auto const kept = reduce(Axis::steps, points, width, range, points.size() + 1);
    BOOST_REQUIRE((kept == reduce(Axis::time, points, width, range, points.size() + 1)));
    for (std::size_t const piece : {1, 2, 7})
        BOOST_REQUIRE((kept == reduce(Axis::steps, points, width, range, piece)));
    return kept;
}

std::size_t pixel_of(double x, std::size_t width, Range range) {
    if (range.last <= range.first) return 0;
    auto const pixel = static_cast<std::size_t>((x - range.first) *
                                                (static_cast<double>(width) / (range.last - range.first)));
    return std::min(pixel, width - 1);
}

/// Least and greatest value and whether there is a NaN among these points of a pixel.
struct OperationSize {
    double least = infinity, greatest = -infinity;
    bool has_nan = false, has_points = false;
    bool operator==(OperationSize const&) const = default;
};

OperationSize values_of(std::vector<Point> const& points, std::vector<std::size_t> const& indices,
                        std::size_t pixel, std::size_t width, Range range) {
    OperationSize extent;
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

BOOST_AUTO_TEST_SUITE(curve_test)

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

BOOST_AUTO_TEST_CASE(the_extent_is_that_of_all_runs) {
    std::vector<RunSeries> const runs{
        {0, {}, {}, {}}, {1, {5, 3}, {{50}, {30}}, {1, 2}}, {2, {9}, {{90}}, {3}}};
    CurveQuery query;
    query.width = 1;
    auto const joined = downsample_series(runs, query);
    BOOST_REQUIRE(joined.size() == 1u);
    BOOST_TEST(!joined[0].run);
    BOOST_TEST(joined[0].points == 3u);
    BOOST_TEST(joined[0].steps == (std::vector<std::uint64_t>{5, 9}));  // 5 is the first and the least
    query.all_runs = true;
    query.width = 6;
    auto const each = downsample_series(runs, query);
    BOOST_REQUIRE(each.size() == 3u);
    BOOST_TEST(each[0].steps.empty());
    BOOST_TEST((each[2].run == 2u));
    BOOST_TEST(each[1].steps == (std::vector<std::uint64_t>{5, 3}));
    query.axis = Axis::time;
    query.from = 31;
    query.to = 90;
    BOOST_TEST(downsample_series(runs, query)[1].steps == (std::vector<std::uint64_t>{5}));
    BOOST_TEST(downsample_series(runs, query)[2].steps == (std::vector<std::uint64_t>{9}));
    BOOST_TEST(downsample_series({}, query).empty());
}

BOOST_AUTO_TEST_SUITE_END()
