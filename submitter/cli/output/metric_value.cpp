#include "output/metric_value.hpp"

#include <det/protocol/document.hpp>
#include <det/protocol/json_number.hpp>

#include <fmt/format.h>

namespace det::cli {

std::string value_text(Json const& value) {
    if (value.is_number_integer() || !number_from_json(value)) return to_line(value);
    return value.is_string() ? value.get<std::string>() : fmt::format("{:.6g}", value.get<double>());
}

}  // namespace det::cli
