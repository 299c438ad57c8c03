#pragma once
#include <det/foundation/environment.hpp>
#include <det/foundation/result.hpp>
#include <det/foundation/text.hpp>

#include <chrono>
#include <fmt/format.h>

namespace det {

/// How long a process repeats a write to the shared file system that fails (disk full, quota, input or output
/// error): DET_STORAGE_TIMEOUT_S, else `usual`. 0: writes are not repeated.
/// \return codes::misuse if the variable is no number of seconds
inline Result<std::chrono::milliseconds> find_storage_timeout(Environment const& environment,
                                                              std::chrono::seconds usual) {
    auto const text = environment.find_non_empty("DET_STORAGE_TIMEOUT_S");
    if (!text) return std::chrono::milliseconds(usual);
    auto const seconds = parse_integer<int>(*text);
    if (!seconds || *seconds < 0)
        return Error{codes::misuse, fmt::format("DET_STORAGE_TIMEOUT_S='{}' is no number of seconds", *text)};
    return std::chrono::milliseconds(std::chrono::seconds(*seconds));
}

}  // namespace det
