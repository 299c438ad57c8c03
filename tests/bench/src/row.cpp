#include "row.hpp"

#include <algorithm>
#include <cassert>
#include <fmt/format.h>

namespace det::bench {
namespace {

template <class Value>
double median_of(std::vector<Pair> const& pairs, Value value) {
    std::vector<double> values;
    values.reserve(pairs.size());
    for (auto const& pair : pairs) values.push_back(value(pair));
    return median(std::move(values));
}

}  // namespace

double median(std::vector<double> values) {
    assert(!values.empty());
    std::sort(values.begin(), values.end());
    auto const middle = values.size() / 2;
    return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

Row summarise(std::string name, std::vector<Pair> const& pairs, std::string unit, Better better) {
    return {std::move(name),
            median_of(pairs, [](Pair const& pair) { return pair.ours; }),
            median_of(pairs, [](Pair const& pair) { return pair.peer; }),
            median_of(pairs, [](Pair const& pair) { return pair.ours / pair.peer; }),
            std::move(unit),
            better};
}

std::string render(Row const& row) {
    auto text = fmt::format(
        R"({{"name": "{}", "ours": {:.4g}, "peer": {:.4g}, "ratio": {:.4g}, "unit": "{}", "better": "{}")",
        row.name, row.ours, row.peer, row.ratio, row.unit, row.better == Better::lower ? "lower" : "higher");
    for (auto const& [name, value] : row.more) text += fmt::format(R"(, "{}": {:.4g})", name, value);
    return text + "}";
}

}  // namespace det::bench
