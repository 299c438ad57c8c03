#include <det/foundation/text.hpp>
#include <det/protocol/json.hpp>
#include <det/search/space.hpp>

#include <cmath>
#include <fmt/format.h>

#include "json_integers.hpp"

namespace det::search {
namespace {

using Values = decltype(Dimension::values);

Error refuse(std::string message, std::string hint = {}) {
    return {codes::bad_value, std::move(message), std::move(hint)};
}

Result<double> require_number(Json const& written, char const* key) {
    auto const found = written.find(key);
    if (found != written.end() && found->is_number()) {
        if (auto const value = found->get<double>(); std::isfinite(value)) return value;
    }
    return refuse(fmt::format("{} must be a finite number", key));
}

Result<std::int64_t> require_integer(Json const& written, char const* key) {
    auto const found = written.find(key);
    if (found != written.end()) {
        if (auto const value = as_integer(*found)) return *value;
    }
    return refuse(fmt::format("{} must be an integer", key));
}

Result<std::optional<std::uint64_t>> find_count(Json const& written) {
    if (!written.contains("count") || written["count"].is_null()) return std::optional<std::uint64_t>();
    DET_TRY_ASSIGN(auto const count, require_integer(written, "count"));
    if (count < 1) return refuse(fmt::format("count must be at least 1, found {}", count));
    return std::optional<std::uint64_t>(count);
}

template <class Number>
Status require_order(Number minval, Number maxval) {
    if (minval < maxval) return Ok{};
    return refuse(fmt::format("minval must be less than maxval, found {} and {}", minval, maxval));
}

Result<Values> parse_const(Json const& written) { return Values(Constant{written.value("val", Json())}); }

Result<Values> parse_int(Json const& written) {
    IntRange range;
    DET_TRY_ASSIGN(range.minval, require_integer(written, "minval"));
    DET_TRY_ASSIGN(range.maxval, require_integer(written, "maxval"));
    DET_TRY_ASSIGN(range.count, find_count(written));
    DET_TRY(require_order(range.minval, range.maxval));
    return Values(range);
}

/// Parses minval, maxval and count. Checks that values between the ends can be computed without overflow.
template <class Range>
Status parse_ends(Json const& written, Range& range) {
    DET_TRY_ASSIGN(range.minval, require_number(written, "minval"));
    DET_TRY_ASSIGN(range.maxval, require_number(written, "maxval"));
    DET_TRY_ASSIGN(range.count, find_count(written));
    DET_TRY(require_order(range.minval, range.maxval));
    auto const parts = static_cast<double>(range.count.value_or(1));
    if (std::isfinite((range.maxval - range.minval) * parts) && std::isfinite(range.minval + range.maxval))
        return Ok{};
    return refuse(fmt::format("the range from {} to {} is too wide", range.minval, range.maxval));
}

Result<Values> parse_double(Json const& written) {
    DoubleRange range;
    DET_TRY(parse_ends(written, range));
    return Values(range);
}

Result<Values> parse_log(Json const& written) {
    LogRange range;
    DET_TRY(parse_ends(written, range));
    DET_TRY_ASSIGN(range.base, require_number(written, "base"));
    if (!(range.base > 0)) return refuse(fmt::format("base must be more than 0, found {}", range.base));
    // Checking both ends is enough, because all other powers are between them.
    for (auto const exponent : {range.minval, range.maxval}) {
        auto const end = std::pow(range.base, exponent);
        if (end == 0)
            return refuse(fmt::format("{} to the power of {} is too small a number", range.base, exponent),
                          "minval and maxval are exponents");
        if (!std::isfinite(end))
            return refuse(fmt::format("{} to the power of {} is too large a number", range.base, exponent),
                          "minval and maxval are exponents");
    }
    return Values(range);
}

Result<Values> parse_categorical(Json const& written) {
    auto const vals = written.find("vals");
    if (vals == written.end() || !vals->is_array() || vals->empty())
        return refuse("vals has nothing to choose from", "list at least one value");
    return Values(Choices{std::vector<JsonValue>(vals->begin(), vals->end())});
}

struct RangeType {
    std::string_view name;
    Result<Values> (*parse)(Json const& written);
};
constexpr RangeType range_types[] = {
    {"const", parse_const},
    {"int", parse_int},
    {"double", parse_double},
    {"log", parse_log},
    {"categorical", parse_categorical},
};

Result<Values> parse_range(Json const& written) {
    auto const type = written["type"].get<std::string>();
    for (auto const& known : range_types) {
        if (known.name == type) return known.parse(written);
    }
    return refuse(fmt::format("type '{}' is unknown", type), "use int, double, log, const or categorical");
}

bool has_type(Json const& written) { return written.contains("type") && written["type"].is_string(); }

class SpaceParser {
public:
    Space space;
    Refusals refusals;

    void add_group(Json const& group) {
        for (auto const& [name, written] : group.items()) {  // sorted by name
            path_.push_back(name);
            add(written);
            path_.pop_back();
        }
    }

private:
    void add(Json const& written) {
        if (!written.is_object() || written.empty()) return add_values(Values(Constant{written}));
        return has_type(written) ? add_values(parse_range(written)) : add_group(written);
    }

    void add_values(Result<Values> values) {
        if (values) return space.push_back({path_, *std::move(values)});
        auto error = std::move(values).error();
        auto const place = "hyperparameters." + join(path_, ".");
        error.message = place + ": " + error.message;
        refusals.push_back({place, std::move(error)});
    }

    std::vector<std::string> path_;
};

}  // namespace

std::string Dimension::name() const { return join(path, "."); }

Result<Space, Refusals> parse_space(Json const& hyperparameters) {
    if (!hyperparameters.is_object() && !hyperparameters.is_null())
        return Refusals{{"hyperparameters", refuse("hyperparameters must be a map")}};
    SpaceParser parser;
    parser.add_group(hyperparameters);
    if (!parser.refusals.empty()) return std::move(parser.refusals);
    return std::move(parser.space);
}

Json assemble(Space const& space, std::vector<Json> values) {
    auto assembled = Json::object();
    for (std::size_t i = 0; i < space.size(); ++i) {
        auto* at = &assembled;
        for (auto const& name : space[i].path) at = &(*at)[name];
        *at = std::move(values[i]);
    }
    return assembled;
}

}  // namespace det::search
