#pragma once
#include <det/foundation/clock.hpp>
#include <det/foundation/environment.hpp>
#include <det/foundation/result.hpp>
#include <det/foundation/text.hpp>

#include <chrono>
#include <fmt/format.h>

namespace det::core {

/// How long a rank repeats a write to the shared file system that fails (disk full, quota, input or output
/// error), before the call fails: DET_STORAGE_TIMEOUT_S, else 5 minutes. 0: writes are not repeated.
/// \return codes::misuse if the variable is no number of seconds
inline Result<std::chrono::milliseconds> find_storage_timeout(Environment const& environment) {
    constexpr std::chrono::seconds usual{300};
    auto const text = environment.find_non_empty("DET_STORAGE_TIMEOUT_S");
    if (!text) return std::chrono::milliseconds(usual);
    auto const seconds = parse_integer<int>(*text);
    if (!seconds || *seconds < 0)
        return Error{codes::misuse, fmt::format("DET_STORAGE_TIMEOUT_S='{}' is no number of seconds", *text)};
    return std::chrono::milliseconds(std::chrono::seconds(*seconds));
}

/// Calls `write` until it succeeds, fails with another code than codes::file_system, or the timeout has
/// passed. \return the result of the last call
template <class Write>
auto repeat_on_storage_error(Clock& clock, std::chrono::milliseconds timeout, Write const& write)
    -> decltype(write()) {
    constexpr std::chrono::milliseconds between_calls{500};
    auto const give_up_at = clock.steady_now() + timeout;
    for (;;) {
        auto result = write();
        bool const may_succeed_later = !result && result.error().code == codes::file_system;
        if (!may_succeed_later || clock.steady_now() >= give_up_at) return result;
        clock.sleep_for(between_calls);
    }
}

}  // namespace det::core
