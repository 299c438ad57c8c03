#pragma once
#include <string>
#include <utility>
#include <vector>

namespace det::bench {

/// One measurement of each side, taken directly after each other.
struct Pair {
    double ours = 0;
    double peer = 0;
};

enum class Better { lower, higher };

/// One output line of a benchmark.
struct Row {
    std::string name;
    double ours = 0;   // median
    double peer = 0;   // median
    double ratio = 0;  // median of ours / peer over the pairs; a disturbance affects both sides of a pair
    std::string unit;
    Better better = Better::lower;
    std::vector<std::pair<std::string, double>> more = {};  // further fields of this row only
};

/// The median. `values` must not be empty.
double median(std::vector<double> values);

/// `pairs` must not be empty.
Row summarise(std::string name, std::vector<Pair> const& pairs, std::string unit, Better better);

/// One line of JSON with four significant digits. `name`, `unit` and the names in `more` must need no
/// escaping.
std::string render(Row const& row);

}  // namespace det::bench
