#pragma once
#include <det/foundation/error.hpp>
#include <det/foundation/result.hpp>
#include <det/protocol/document.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace det::search {

struct Constant {
    JsonValue value;
};
/// An integer range, both ends included. count: the number of grid points on this axis.
struct IntRange {
    std::int64_t minval = 0, maxval = 0;
    std::optional<std::uint64_t> count = {};
    /// maxval - minval
    std::uint64_t width() const {
        return static_cast<std::uint64_t>(maxval) - static_cast<std::uint64_t>(minval);
    }
};
struct DoubleRange {
    double minval = 0, maxval = 0;
    std::optional<std::uint64_t> count = {};
};
/// Values are `base` to the power of an exponent between minval and maxval.
struct LogRange {
    double minval = 0, maxval = 0, base = 10;
    std::optional<std::uint64_t> count = {};
};
struct Choices {
    std::vector<JsonValue> vals;
};

/// One hyperparameter. A nested hyperparameter has a path of several names.
struct Dimension {
    std::vector<std::string> path;
    std::variant<Constant, IntRange, DoubleRange, LogRange, Choices> values;

    std::string name() const;  // "opt.lr"
};

/// Dimensions sorted by name, nested ones depth first. Values are drawn and grid points are enumerated in
/// this order. It is Determined's order, except that Determined leaves that of nested hyperparameters
/// undefined.
using Space = std::vector<Dimension>;

/// An error in the configuration of the search, and the path of the wrong value: "hyperparameters.opt.lr",
/// "searcher.max_trials".
struct Refusal {
    std::string path;
    Error error;
};
using Refusals = std::vector<Refusal>;

/// Parses hyperparameters as configured: {"lr": {"type": "double", "minval": 0, "maxval": 1}}. A map whose
/// `type` is a string is a range, choices or a constant; any other map that is not empty has nested
/// hyperparameters; an empty map and every other value is a constant. Fails with all values that are wrong.
/// Every number that can be drawn from a range is finite.
Result<Space, Refusals> parse_space(Json const& hyperparameters);

/// The hyperparameters of a trial as nested maps. `values` has one value for each dimension.
Json assemble(Space const& space, std::vector<Json> values);

}  // namespace det::search
