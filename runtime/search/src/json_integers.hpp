#pragma once
#include <det/protocol/document.hpp>

#include <cstdint>
#include <optional>

namespace det::search {

/// Returns the value if it is an integer that fits int64.
std::optional<std::int64_t> as_integer(Json const& value);

/// Returns the value of the key if it is an integer of at least 1.
std::optional<std::uint64_t> find_positive(Json const& object, char const* key);

}  // namespace det::search
