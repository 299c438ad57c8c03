#pragma once
#include <det/protocol/json.hpp>

#include <fmt/format.h>

#include "boundary.hpp"

namespace det::capi {

/// Parses the text of an argument as JSON. Fails with codes::misuse if it is NULL or not JSON.
/// \param name the name of the argument, for the message
Result<Json> parse(char const* text, std::string_view name);

/// Parses the metadata of a checkpoint. NULL gives an empty object. Text that is not JSON gives null, which
/// core refuses; in collective calls it does so on all ranks.
Json metadata_of(char const* text);

}  // namespace det::capi
