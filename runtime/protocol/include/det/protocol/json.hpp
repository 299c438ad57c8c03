#pragma once
#include <det/foundation/result.hpp>
#include <det/protocol/json_value.hpp>

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace det {

// nlohmann's parser and writer are templates, which take seconds to compile in each group of sources that
// uses them. They are used in json.cpp alone; all others call these functions.

/// Parses JSON text. Throws Json::parse_error; see decode_json().
Json parse_json(std::string_view text);

/// Parses JSON text. Returns a discarded value (is_discarded()) if it is not JSON; that is no object, array,
/// string or number.
Json try_parse_json(std::string_view text);

/// Renders JSON on one line. Bytes that are not UTF-8 become U+FFFD.
std::string to_line(Json const& json);

/// Renders JSON on several lines, with `indent` blanks for each level. Bytes that are not UTF-8 become
/// U+FFFD.
///
/// \param indent -1: on one line, as to_line()
std::string to_lines(Json const& json, int indent);

/// Calls `read`, which reads values from JSON, and returns its result. Converts the exceptions of
/// nlohmann::json to codes::damaged; `what` names the input in the message.
template <class Read>
auto decode_json(std::string_view what, Read&& read) -> Result<decltype(read())> {
    try {
        return read();
    } catch (Json::exception const& problem) {
        return Error{codes::damaged,
                     "'" + std::string(what) + "' does not hold what it should: " + problem.what()};
    }
}

}  // namespace det
