#pragma once
#include <det/foundation/clock.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace det::tracker::history {

struct RunSeries;

enum class Axis { steps, time };

/// A range of an axis: steps, or microseconds since 1970. Empty if `first` is greater than `last`.
struct AxisRange {
    double first = std::numeric_limits<double>::max();
    double last = std::numeric_limits<double>::lowest();  // included

    void extend_to(double x) {
        if (x < first) first = x;
        if (x > last) last = x;
    }
};

/// A request for a metric, reduced to the points that a plot of this width can show.
struct CurveQuery {
    std::string group;
    std::string metric;
    std::size_t width = 1000;  // pixels, at least 1
    Axis axis = Axis::steps;
    std::optional<double> from = {};  // position on the axis; nullopt: the first point
    std::optional<double> to = {};    // included; nullopt: the last point
    bool all_runs = false;            // a curve for each run, with superseded reports
};

/// The points that are drawn, in the order of the reports.
struct Curve {
    std::optional<std::uint32_t> run = {};  // nullopt: of all runs, without superseded reports
    std::uint64_t points = 0;  // number of points before the reduction, with those outside of the range
    std::vector<std::uint64_t> steps = {};
    std::vector<UtcTime> times = {};
    std::vector<double> values = {};
};

/// Points of a series, as columns of the same length.
struct SeriesPart {
    std::span<std::uint64_t const> steps;
    std::span<UtcTime const> times;
    std::span<double const> values;
};

/// Chooses the points that a plot can show. The range is divided into pixels of the same size; of the points
/// in each pixel the first, the last, the one with the least and the one with the greatest value are kept (of
/// equal ones the earliest), and the first NaN. Infinities are values. Its memory does not depend on the
/// number of points.
class CurveDownsampler {
public:
    /// \param width pixels, at least 1
    CurveDownsampler(Axis axis, std::size_t width, AxisRange range);

    /// Adds points, whose x may be in any order. The "first" point of a pixel is the one that was added
    /// first.
    void add(SeriesPart const& part);
    /// At most 5 * width points.
    Curve finish(std::optional<std::uint32_t> run) const;

private:
    static constexpr auto none = std::numeric_limits<std::uint64_t>::max();
    struct Point {
        std::uint64_t number = none;  // number of points that were added before this one
        std::uint64_t step = 0;
        UtcTime time = {};
        double value = 0;
    };
    struct Pixel {
        Point first, last, least, greatest, not_a_number;
    };
    struct PartOfPixel;

    template <Axis axis>
    void add_points(SeriesPart const& part);
    void merge(Pixel& pixel, PartOfPixel const& found, SeriesPart const& part) const;

    Axis axis_;
    AxisRange range_;
    std::vector<Pixel> pixels_;
    std::uint64_t count_ = 0;  // number of points added
};

/// The range that a query asks for.
/// \param extent the range of all points, which replaces a missing end
AxisRange choose_range(CurveQuery const& query, AxisRange const& extent);

/// Reduces the series of a trial's runs: to one curve of all runs, or, if the query asks for all runs, to one
/// curve for each. Pure.
std::vector<Curve> downsample_series(std::vector<RunSeries> const& runs, CurveQuery const& query);

}  // namespace det::tracker::history
