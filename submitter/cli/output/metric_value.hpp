#pragma once
#include <det/protocol/json.hpp>

#include <optional>
#include <string>

namespace det::cli {

/// The number of a reported value. NaN and infinities are the strings that journals have for them.
/// \return nullopt if the value is no number
std::optional<double> find_number(Json const& value);

/// Returns "0.125", "NaN", or the JSON of a value that is no number.
std::string value_text(Json const& value);

}  // namespace det::cli
