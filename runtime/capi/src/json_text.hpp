#pragma once
#include <det/protocol/json.hpp>

#include <fmt/format.h>

#include "boundary.hpp"

namespace det::capi {

/// The text of an argument as JSON; `name` is that of the argument.
Result<Json> parse(char const* text, std::string_view name);

/// A checkpoint's metadata. What is none is passed on as null, which core refuses on all ranks alike.
Json metadata_of(char const* text);

}  // namespace det::capi
