#pragma once
#include <det/foundation/error.hpp>

#include <string>
#include <string_view>

namespace det::checkpoint {

/// An error as one rank tells it to the others. What is no such message is codes::internal.
std::string render_error(Error const& error);
Error parse_error(std::string_view text);

}  // namespace det::checkpoint
