#pragma once
#include <det/config/conformance.hpp>

#include <optional>

namespace det::config {

/// Why a case does not hold; nothing where it does.
using Failure = std::optional<std::string>;

/// That the document has these defaults, and stays the same when it is written out and read again.
Failure check_defaults(ConformanceCase const& tested);
/// That both documents make this one.
Failure check_merged(ConformanceCase const& tested);

}  // namespace det::config
