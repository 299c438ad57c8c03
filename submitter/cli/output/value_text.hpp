#pragma once
#include <det/protocol/json.hpp>

#include <string>

namespace det::cli {

/// Returns "0.125", "NaN", or the JSON of a value that is no number.
std::string value_text(Json const& value);
/// "2:03:04", in hours, minutes and whole seconds. A negative duration is "0:00:00".
std::string duration_text(double duration_s);

}  // namespace det::cli
