#pragma once
#include <string>
#include <string_view>

namespace det::queue {

/// Explains why a job waits; an unknown reason is returned unchanged. The reason "None" gives "".
std::string explain_reason(std::string_view reason);

}  // namespace det::queue
