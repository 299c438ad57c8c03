#pragma once
#include <det/foundation/result.hpp>

#include <string>
#include <vector>

namespace det::collectives {

/// Several byte strings as one: the size of each (8 bytes), then its bytes.
std::string pack(std::vector<std::string> const& values);
Result<std::vector<std::string>> unpack(std::string_view packed);

}  // namespace det::collectives
