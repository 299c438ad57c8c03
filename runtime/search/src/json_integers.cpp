#include "json_integers.hpp"

#include <det/protocol/json.hpp>

#include <limits>

namespace det::search {

std::optional<std::int64_t> as_integer(Json const& value) {
    if (value.is_number_unsigned()) {
        auto const number = value.get<std::uint64_t>();
        if (number > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
            return std::nullopt;
        return static_cast<std::int64_t>(number);
    }
    if (!value.is_number_integer()) return std::nullopt;
    return value.get<std::int64_t>();
}

std::optional<std::uint64_t> find_positive(Json const& object, char const* key) {
    auto const found = object.find(key);
    if (found == object.end()) return std::nullopt;
    auto const number = as_integer(*found);
    if (!number || *number < 1) return std::nullopt;
    return static_cast<std::uint64_t>(*number);
}

}  // namespace det::search
