#pragma once
#include <det/protocol/json.hpp>

#include <string>

namespace det::cli {

/// Returns "0.125", "NaN", or the JSON of a value that is no number.
std::string value_text(Json const& value);

}  // namespace det::cli
