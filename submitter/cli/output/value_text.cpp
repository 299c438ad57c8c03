#include "output/value_text.hpp"

#include <det/protocol/document.hpp>
#include <det/protocol/json_number.hpp>

#include <algorithm>
#include <cstdint>
#include <fmt/format.h>

namespace det::cli {

std::string NumberText::operator()(double value) const { return fmt::format("{:.{}g}", value, digits_); }

std::string NumberText::operator()(Json const& value) const {
    if (value.is_number_integer() || !number_from_json(value)) return to_line(value);
    return value.is_string() ? value.get<std::string>() : (*this)(value.get<double>());
}

std::string duration_text(double duration_s) {
    auto const seconds = static_cast<std::int64_t>(std::max(0.0, duration_s));
    return fmt::format("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
}

}  // namespace det::cli
