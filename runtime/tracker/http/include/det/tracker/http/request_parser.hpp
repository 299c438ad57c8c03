#pragma once
#include <det/tracker/http/limits.hpp>
#include <det/tracker/http/message.hpp>

#include <string_view>
#include <variant>

namespace det::tracker::http {

struct Incomplete {};

/// Parses bytes as the server does with what a connection receives: the first request in them, Incomplete if
/// it may go on, or the response to what is no request. For tests.
std::variant<RawRequest, Incomplete, Response> parse_request(std::string_view bytes, Limits const& limits);

}  // namespace det::tracker::http
