#pragma once
#include <det/foundation/error.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace det::tracker::index {

// An error of reading a file, kept in the index so that readers of the index get it as well.

std::optional<std::string> render_error(std::optional<Error> const& error);
/// The error that render_error() rendered, with codes::file_system in place of a code that reading files does
/// not return; an error with codes::damaged if the text is anything else.
Error parse_error(std::string_view text);

}  // namespace det::tracker::index
