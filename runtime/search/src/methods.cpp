#include "methods.hpp"

#include <det/protocol/json.hpp>
#include <det/search/asha.hpp>

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>

#include "json_integers.hpp"

namespace det::search {
namespace {

// ---- random and single: a point is drawn dimension by dimension.

/// The random draw for a dimension, before it is converted to a value. At most one of the two members is
/// used.
struct Pick {
    std::uint64_t index = 0;
    double unit = 0;
};

/// Draws the random numbers for a hyperparameter. sample_point and skip_point use it.
struct DrawPick {
    NumpyRandom& random;

    Pick operator()(Constant const&) const { return {}; }
    Pick operator()(IntRange const& range) const { return {random.at_most(range.width()), 0}; }
    Pick operator()(DoubleRange const&) const { return {0, random.unit()}; }
    Pick operator()(LogRange const&) const { return {0, random.unit()}; }
    Pick operator()(Choices const& choices) const { return {random.below(choices.vals.size()), 0}; }
};

template <class Range>
double between(Range const& range, double unit) {
    return range.minval + (range.maxval - range.minval) * unit;
}

struct PickedValue {
    Pick pick;

    Json operator()(Constant const& constant) const { return constant.value; }
    Json operator()(IntRange const& range) const {
        return static_cast<std::int64_t>(static_cast<std::uint64_t>(range.minval) + pick.index);
    }
    Json operator()(DoubleRange const& range) const { return between(range, pick.unit); }
    Json operator()(LogRange const& range) const { return std::pow(range.base, between(range, pick.unit)); }
    Json operator()(Choices const& choices) const { return choices.vals[pick.index]; }
};

/// Returns searcher.max_trials. Fails if it is missing or not an integer of at least 1.
Result<std::uint64_t, Refusals> count_random_trials(SearcherSpec const& searcher, Space const&) {
    if (auto const trials = find_positive(searcher.options, "max_trials")) return *trials;
    return Refusals{{"searcher.max_trials",
                     Error{codes::bad_value, "searcher.max_trials must say how many trials are run"}}};
}

Json sample_point(Space const& space, std::uint32_t, std::uint32_t, NumpyRandom& random) {
    std::vector<Json> values;
    values.reserve(space.size());
    for (auto const& dimension : space) {
        auto const pick = std::visit(DrawPick{random}, dimension.values);
        values.push_back(std::visit(PickedValue{pick}, dimension.values));
    }
    return assemble(space, std::move(values));
}

/// Takes the same random numbers as sample_point without computing a point.
void skip_point(Space const& space, NumpyRandom& random) {
    for (auto const& dimension : space) std::visit(DrawPick{random}, dimension.values);
}

// ---- grid: a point is computed from its index.

constexpr auto points_max = std::numeric_limits<std::uint64_t>::max();

/// The number of points on an axis; nullopt if a range has no count.
struct AxisSize {
    using Size = std::optional<std::uint64_t>;
    Size operator()(Constant const&) const { return 1; }
    Size operator()(IntRange const& range) const {
        if (!range.count) return std::nullopt;
        auto const last = std::min(*range.count - 1, range.width());  // no integer occurs twice
        return last + 1;
    }
    Size operator()(DoubleRange const& range) const { return range.count; }
    Size operator()(LogRange const& range) const { return range.count; }
    Size operator()(Choices const& choices) const { return choices.vals.size(); }
};

std::uint64_t axis_size(Dimension const& dimension) {
    return std::visit(AxisSize{}, dimension.values).value_or(1);
}

/// minval + width * part / parts, with halves rounded away from zero. Computed in integers, which is exact.
std::int64_t divide(IntRange const& range, std::uint64_t part, std::uint64_t parts) {
    auto const width = range.width();
    auto const rest = width % parts * part;
    auto const offset = width / parts * part + rest / parts;
    auto const floor = static_cast<std::int64_t>(static_cast<std::uint64_t>(range.minval) + offset);
    auto const twice = 2 * (rest % parts);
    bool const is_up = twice > parts || (twice == parts && floor >= 0);
    return is_up ? floor + 1 : floor;
}

template <class Range>
double divide(Range const& range, std::uint64_t index) {
    auto const count = *range.count;
    if (count == 1) return (range.minval + range.maxval) / 2;
    return range.minval +
           static_cast<double>(index) * (range.maxval - range.minval) / static_cast<double>(count - 1);
}

struct AxisValue {
    std::uint64_t index, size;

    Json operator()(Constant const& constant) const { return constant.value; }
    Json operator()(IntRange const& range) const {
        return size == 1 ? divide(range, 1, 2) : divide(range, index, size - 1);
    }
    Json operator()(DoubleRange const& range) const { return divide(range, index); }
    Json operator()(LogRange const& range) const { return std::pow(range.base, divide(range, index)); }
    Json operator()(Choices const& choices) const { return choices.vals[index]; }
};

Refusals find_missing_counts(Space const& space) {
    Refusals refusals;
    for (auto const& dimension : space) {
        if (std::visit(AxisSize{}, dimension.values)) continue;
        auto const path = "hyperparameters." + dimension.name();
        refusals.push_back(
            {path, Error{codes::missing_key, path + ": grid search is in use but count was not provided",
                         "add 'count: ...': how many points to try"}});
    }
    return refusals;
}

/// The number of grid points: the product of the axis lengths (1 for a constant or an empty group). Without
/// hyperparameters it is 0. Saturates at the maximum of 64 bits.
Result<std::uint64_t, Refusals> count_grid_points(SearcherSpec const&, Space const& space) {
    if (auto missing = find_missing_counts(space); !missing.empty()) return missing;
    if (space.empty()) return std::uint64_t{0};
    std::uint64_t points = 1;
    for (auto const& dimension : space) {
        auto const size = axis_size(dimension);
        points = points > points_max / size ? points_max : points * size;
    }
    return points;
}

/// \return The grid point of a trial. The last axis varies fastest. Trial 0 gets the last point, because
/// Determined takes points from the end of its list.
Json grid_point(Space const& space, std::uint32_t trial, std::uint32_t count, NumpyRandom&) {
    std::uint64_t index = count - 1 - trial;
    std::vector<Json> values(space.size());
    for (auto i = space.size(); i-- > 0;) {
        auto const size = axis_size(space[i]);
        values[i] = std::visit(AxisValue{index % size, size}, space[i].values);
        index /= size;
    }
    return assemble(space, std::move(values));
}

Result<std::uint64_t, Refusals> one_trial(SearcherSpec const&, Space const&) { return std::uint64_t{1}; }

Result<std::uint64_t, Refusals> count_asha_trials(SearcherSpec const& searcher, Space const&) {
    DET_TRY_ASSIGN(auto const search, plan_asha(searcher));
    return std::uint64_t{search.trial_count()};
}

void skip_nothing(Space const&, NumpyRandom&) {}

// ---- custom: a program chooses, when a trial begins (runtime/sampler). Known before are the constants.

Json known_point(Space const& space, std::uint32_t, std::uint32_t, NumpyRandom&) {
    Space constants;
    std::vector<Json> values;
    for (auto const& dimension : space) {
        auto const* constant = std::get_if<Constant>(&dimension.values);
        if (constant == nullptr) continue;
        constants.push_back(dimension);
        values.push_back(constant->value);
    }
    return assemble(constants, std::move(values));
}

constexpr Method methods[] = {
    {"single", true, one_trial, sample_point, skip_point},
    {"random", true, count_random_trials, sample_point, skip_point},
    {"grid", false, count_grid_points, grid_point, skip_nothing},
    {"adaptive_asha", true, count_asha_trials, sample_point, skip_point},
    {"async_halving", true, count_asha_trials, sample_point, skip_point},
    {"custom", true, count_random_trials, known_point, skip_nothing},
};

}  // namespace

Result<Method const*, Refusals> find_method(std::string const& name) {
    for (auto const& method : methods) {
        if (method.name == name) return &method;
    }
    return Refusals{{"searcher.name",
                     Error{codes::not_supported, fmt::format("searcher '{}' cannot be run yet", name),
                           "use 'single', 'random', 'grid', 'adaptive_asha', 'async_halving' or 'custom'"}}};
}

std::string describe_grid(Space const& space) {
    constexpr std::size_t shown_max = 8;
    std::string text;
    std::size_t shown = 0;
    for (auto const& dimension : space) {
        auto const size = axis_size(dimension);
        if (size == 1) continue;
        if (++shown > shown_max) return text + " x ...";
        text += fmt::format("{}{} {}", text.empty() ? "" : " x ", dimension.name(), size);
    }
    return text;
}

}  // namespace det::search
