#pragma once
#include <det/protocol/document.hpp>

#include <cstdint>
#include <optional>

namespace det::search {

/// A whole number that 64 bits with a sign hold.
std::optional<std::int64_t> as_integer(Json const& value);

/// A whole number of at least 1 under the key.
std::optional<std::uint64_t> find_positive(Json const& object, char const* key);

}  // namespace det::search
