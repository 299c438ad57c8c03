#include <det/protocol/json.hpp>
#include <det/protocol/json_number.hpp>

#include <cmath>
#include <limits>

namespace det {

std::string_view non_finite_name(double value) {
    if (std::isfinite(value)) return {};
    if (std::isnan(value)) return "NaN";
    return value > 0 ? "Infinity" : "-Infinity";
}

std::optional<double> find_non_finite(std::string_view name) {
    using Limits = std::numeric_limits<double>;
    for (double const value : {Limits::quiet_NaN(), Limits::infinity(), -Limits::infinity()})
        if (name == non_finite_name(value)) return value;
    return std::nullopt;
}

Json number_to_json(double value) {
    auto const name = non_finite_name(value);
    return name.empty() ? Json(value) : Json(name);
}

std::optional<double> number_from_json(Json const& value) {
    if (value.is_number()) return value.get<double>();
    if (!value.is_string()) return std::nullopt;
    return find_non_finite(value.get_ref<std::string const&>());
}

}  // namespace det
