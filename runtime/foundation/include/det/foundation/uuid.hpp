#pragma once
#include <string>
#include <string_view>

namespace det {

/// A random (version 4) UUID, lower case.
std::string make_uuid();
bool is_uuid(std::string_view text);

}  // namespace det
