#include <det/tracker/history/curve.hpp>
#include <det/tracker/history/history.hpp>

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>

namespace det::tracker::history {
namespace {

template <Axis axis>
double x_of(SeriesPart const& part, std::size_t i) {
    if constexpr (axis == Axis::steps) {
        return static_cast<double>(part.steps[i]);
    } else {
        return static_cast<double>(part.times[i].microseconds);
    }
}

SeriesPart whole(RunSeries const& run) { return {run.steps, run.times, run.values}; }

AxisRange extent_of(std::vector<RunSeries> const& runs, Axis axis) {
    AxisRange extent;
    for (auto const& run : runs) {
        for (std::size_t i = 0; i < run.size(); ++i) {
            extent.extend_to(axis == Axis::steps ? x_of<Axis::steps>(whole(run), i)
                                                 : x_of<Axis::time>(whole(run), i));
        }
    }
    return extent;
}

}  // namespace

/// The first, last, least and greatest of consecutive points of a SeriesPart that are in the same pixel, as
/// indices in the part.
struct CurveDownsampler::PartOfPixel {
    static constexpr auto no_index = std::numeric_limits<std::size_t>::max();
    std::size_t first = 0, last = 0, least = no_index, greatest = no_index, not_a_number = no_index;
    double least_value = std::nan(""), greatest_value = std::nan("");

    void add(std::size_t index, double value) {
        last = index;
        if (std::isnan(value)) {
            if (not_a_number == no_index) not_a_number = index;
            return;
        }
        // The comparisons are false while the value is still NaN, so that the first number is taken.
        if (!(value >= least_value)) {
            least = index;
            least_value = value;
        }
        if (!(value <= greatest_value)) {
            greatest = index;
            greatest_value = value;
        }
    }
};

CurveDownsampler::CurveDownsampler(Axis axis, std::size_t width, AxisRange range)
    : axis_(axis), range_(range), pixels_(width) {
    assert(width > 0);
}

void CurveDownsampler::merge(Pixel& pixel, PartOfPixel const& found, SeriesPart const& part) const {
    auto const point_at = [&](std::size_t i) {
        return Point{count_ + i, part.steps[i], part.times[i], part.values[i]};
    };
    constexpr auto no_index = PartOfPixel::no_index;
    if (pixel.first.number == none) pixel.first = point_at(found.first);
    pixel.last = point_at(found.last);
    if (found.least != no_index && (pixel.least.number == none || found.least_value < pixel.least.value)) {
        pixel.least = point_at(found.least);
    }
    if (found.greatest != no_index &&
        (pixel.greatest.number == none || found.greatest_value > pixel.greatest.value)) {
        pixel.greatest = point_at(found.greatest);
    }
    if (found.not_a_number != no_index && pixel.not_a_number.number == none)
        pixel.not_a_number = point_at(found.not_a_number);
}

template <Axis axis>
void CurveDownsampler::add_points(SeriesPart const& part) {
    auto const span = range_.last - range_.first;
    auto const per_x = span > 0 ? static_cast<double>(pixels_.size()) / span : 0;
    auto const last_pixel = pixels_.size() - 1;
    auto current = pixels_.size();  // none
    PartOfPixel found;
    for (std::size_t i = 0; i < part.values.size(); ++i) {
        auto const x = x_of<axis>(part, i);
        if (!(x >= range_.first && x <= range_.last)) continue;
        auto const pixel = std::min(static_cast<std::size_t>((x - range_.first) * per_x), last_pixel);
        if (pixel != current) {
            if (current <= last_pixel) merge(pixels_[current], found, part);
            current = pixel;
            found = PartOfPixel();
            found.first = i;
        }
        found.add(i, part.values[i]);
    }
    if (current <= last_pixel) merge(pixels_[current], found, part);
}

void CurveDownsampler::add(SeriesPart const& part) {
    axis_ == Axis::steps ? add_points<Axis::steps>(part) : add_points<Axis::time>(part);
    count_ += part.values.size();
}

Curve CurveDownsampler::finish(std::optional<std::uint32_t> run) const {
    std::vector<Point const*> kept;
    for (auto const& pixel : pixels_) {
        for (auto const* point :
             {&pixel.first, &pixel.last, &pixel.least, &pixel.greatest, &pixel.not_a_number}) {
            if (point->number != none) kept.push_back(point);
        }
    }
    auto const number_of = [](Point const* point) { return point->number; };
    std::ranges::sort(kept, {}, number_of);
    auto const repeated = std::ranges::unique(kept, {}, number_of);
    kept.erase(repeated.begin(), repeated.end());
    Curve curve{run, count_, {}, {}, {}};
    for (auto const* point : kept) {
        curve.steps.push_back(point->step);
        curve.times.push_back(point->time);
        curve.values.push_back(point->value);
    }
    return curve;
}

AxisRange choose_range(CurveQuery const& query, AxisRange const& extent) {
    return {query.from.value_or(extent.first), query.to.value_or(extent.last)};
}

std::vector<Curve> downsample_series(std::vector<RunSeries> const& runs, CurveQuery const& query) {
    auto const range = choose_range(query, extent_of(runs, query.axis));
    std::vector<Curve> curves;
    CurveDownsampler joined(query.axis, query.width, range);
    for (auto const& run : runs) {
        if (!query.all_runs) {
            joined.add(whole(run));
            continue;
        }
        CurveDownsampler own(query.axis, query.width, range);
        own.add(whole(run));
        curves.push_back(own.finish(run.run));
    }
    if (!query.all_runs) curves.push_back(joined.finish(std::nullopt));
    return curves;
}

Result<std::vector<Curve>> History::load_curves(TrialId id, CurveQuery const& query) {
    auto const superseded = query.all_runs ? SupersededReports::included : SupersededReports::left_out;
    DET_TRY_ASSIGN(auto const runs, load_series(id, query.group, query.metric, superseded));
    return downsample_series(runs, query);
}

}  // namespace det::tracker::history
