#pragma once
#include <det/foundation/error.hpp>

#include <string>

namespace det::checkpoint {

Error damaged(std::string const& uuid, std::string const& why);

}  // namespace det::checkpoint
