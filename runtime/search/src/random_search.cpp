#include "random_search.hpp"

#include <det/protocol/json.hpp>

#include <cmath>

#include "numbers.hpp"

namespace det::search {
namespace {

/// The random draw for a dimension, before it is converted to a value. One of the two members is used.
struct Pick {
    std::uint64_t index = 0;
    double unit = 0;
};

/// Takes the random numbers for a hyperparameter. Sampling and skipping both use it, so they take the same.
struct Picker {
    Random& random;

    Pick operator()(Constant const&) const { return {}; }
    Pick operator()(IntRange const& range) const { return {random.up_to(range.width()), 0}; }
    Pick operator()(DoubleRange const&) const { return {0, random.unit()}; }
    Pick operator()(LogRange const&) const { return {0, random.unit()}; }
    Pick operator()(Choices const& choices) const { return {random.below(choices.vals.size()), 0}; }
};

template <class Range>
double between(Range const& range, double unit) {
    return range.minval + (range.maxval - range.minval) * unit;
}

struct Picked {
    Pick pick;

    Json operator()(Constant const& constant) const { return constant.value; }
    Json operator()(IntRange const& range) const {
        return static_cast<std::int64_t>(static_cast<std::uint64_t>(range.minval) + pick.index);
    }
    Json operator()(DoubleRange const& range) const { return between(range, pick.unit); }
    Json operator()(LogRange const& range) const { return std::pow(range.base, between(range, pick.unit)); }
    Json operator()(Choices const& choices) const { return choices.vals[pick.index]; }
};

}  // namespace

Result<std::uint64_t, Refusals> count_random_trials(Json const& options, Space const&) {
    if (auto const trials = find_positive(options, "max_trials")) return *trials;
    return Refusals{{"searcher.max_trials",
                     Error{codes::bad_value, "searcher.max_trials must say how many trials are run"}}};
}

Json sample_point(Space const& space, Random& random) {
    std::vector<Json> values;
    values.reserve(space.size());
    for (auto const& dimension : space) {
        auto const pick = std::visit(Picker{random}, dimension.values);
        values.push_back(std::visit(Picked{pick}, dimension.values));
    }
    return assemble(space, std::move(values));
}

void skip_point(Space const& space, Random& random) {
    for (auto const& dimension : space) std::visit(Picker{random}, dimension.values);
}

}  // namespace det::search
