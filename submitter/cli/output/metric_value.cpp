#include "output/metric_value.hpp"

#include <det/protocol/document.hpp>

#include <fmt/format.h>
#include <limits>

namespace det::cli {

std::optional<double> find_number(Json const& value) {
    using Limits = std::numeric_limits<double>;
    if (value.is_number()) return value.get<double>();
    if (value == "NaN") return Limits::quiet_NaN();
    if (value == "Infinity") return Limits::infinity();
    if (value == "-Infinity") return -Limits::infinity();
    return std::nullopt;
}

std::string value_text(Json const& value) {
    if (value.is_number_integer() || !find_number(value)) return to_line(value);
    return value.is_string() ? value.get<std::string>() : fmt::format("{:.6g}", value.get<double>());
}

}  // namespace det::cli
