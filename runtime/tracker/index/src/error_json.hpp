#pragma once
#include <det/foundation/error.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace det::tracker::index {

// An error of reading a file, kept in the index so that readers of the index get it as well.

std::optional<std::string> render_error(std::optional<Error> const& error);
/// codes::damaged if the text is none that render_error() makes.
Error parse_error(std::string_view text);

}  // namespace det::tracker::index
