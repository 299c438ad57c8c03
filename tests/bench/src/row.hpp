#pragma once
#include <string>
#include <vector>

namespace det::bench {

/// One measurement of each side, taken one right after the other.
struct Pair {
    double ours = 0;
    double peer = 0;
};

enum class Better { lower, higher };

/// What a benchmark says about one question.
struct Row {
    std::string name;
    double ours = 0;  // median
    double peer = 0;  // median
    double ratio =
        0;  // median of the pairs' ratios, ours / peer: what slows a pair down slows both its sides
    std::string unit;
    Better better = Better::lower;
};

/// The middle one, or the mean of the middle two. There must be a value.
double median(std::vector<double> values);

/// There must be a pair.
Row summarise(std::string name, std::vector<Pair> const& pairs, std::string unit, Better better);

/// One line of JSON, with four digits of each number; name and unit are plain words.
std::string render(Row const& row);

}  // namespace det::bench
