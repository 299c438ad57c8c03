#pragma once
#include <det/foundation/result.hpp>
#include <det/protocol/json_value.hpp>

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace det {

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
