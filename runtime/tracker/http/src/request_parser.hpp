#pragma once
#include <det/tracker/http/limits.hpp>
#include <det/tracker/http/message.hpp>

#include <string_view>
#include <variant>

namespace det::tracker::http {

struct Incomplete {};

/// Parses bytes as the server parses the input of a connection. For tests.
/// \return the first request in them; Incomplete if they are the beginning of one; otherwise the response
///     that refuses them
std::variant<RawRequest, Incomplete, Response> parse_request(std::string_view bytes, Limits const& limits);

}  // namespace det::tracker::http
