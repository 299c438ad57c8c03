#pragma once
#include <string>

namespace det::cli {

/// "2:03:04", in hours, minutes and whole seconds. A negative duration is "0:00:00".
std::string duration_text(double duration_s);

}  // namespace det::cli
