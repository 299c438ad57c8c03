#pragma once
#include <det/foundation/diagnostic.hpp>
#include <det/protocol/json.hpp>

namespace det::cli {

/// The errors and warnings of a configuration, sorted by their place: `severity`, `code`, `message`, `hint`,
/// and `file`, `line` and `column` if the place is known.
Json problems_json(Diagnostics const& found);

}  // namespace det::cli
