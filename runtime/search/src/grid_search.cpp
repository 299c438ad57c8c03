#include "grid_search.hpp"

#include <det/protocol/json.hpp>

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>

namespace det::search {
namespace {

constexpr auto most = std::numeric_limits<std::uint64_t>::max();

/// The number of points on an axis; none if a range has no count.
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
        auto const place = "hyperparameters." + dimension.name();
        refusals.push_back(
            {place, Error{codes::missing_key, place + ": grid search is in use but count was not provided",
                          "add 'count: ...': how many points to try"}});
    }
    return refusals;
}

}  // namespace

Result<std::uint64_t, Refusals> count_grid_points(Json const&, Space const& space) {
    if (auto missing = find_missing_counts(space); !missing.empty()) return missing;
    if (space.empty()) return std::uint64_t{0};
    std::uint64_t points = 1;
    for (auto const& dimension : space) {
        auto const size = axis_size(dimension);
        points = points > most / size ? most : points * size;
    }
    return points;
}

Json grid_point(Space const& space, std::uint64_t index) {
    std::vector<Json> values(space.size());
    for (auto i = space.size(); i-- > 0;) {
        auto const size = axis_size(space[i]);
        values[i] = std::visit(AxisValue{index % size, size}, space[i].values);
        index /= size;
    }
    return assemble(space, std::move(values));
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
