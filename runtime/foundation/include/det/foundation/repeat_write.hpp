#pragma once
#include <det/foundation/clock.hpp>
#include <det/foundation/error.hpp>
#include <det/foundation/error_codes.hpp>

#include <algorithm>
#include <chrono>
#include <functional>

namespace det {

/// How often and for how long a write is repeated that a file system can't take now.
struct WriteRetry {
    std::chrono::milliseconds timeout{0};  ///< since the first failure; 0: the write is not repeated
    std::chrono::milliseconds pause{500};  ///< between two attempts
    std::function<void(Error const&)> on_first =
        {};                                  ///< called with the first failure, if the write is repeated
    std::function<bool()> is_given_up = {};  ///< asked after each pause; true: no further attempt
};

/// Whether the same write may succeed later: the disk is full, a quota is used up, or the file system reports
/// an input or output error. codes::file_system includes errors that remain, such as a read-only file system.
inline bool may_succeed_later(Error const& error) { return error.code == codes::file_system; }

/// Calls `write` until it succeeds, fails with an error that remains, or the timeout has passed. `write` must
/// remove what a failed attempt has left where that would be in the way of the next one. Blocks.
///
/// \return the result of the last call
template <class Write>
auto repeat_write(Clock& clock, WriteRetry const& retry, Write const& write) -> decltype(write()) {
    auto const give_up_at = clock.steady_now() + retry.timeout;
    for (bool is_first = true;; is_first = false) {
        auto result = write();
        if (result || !may_succeed_later(result.error())) return result;
        auto const left = std::chrono::ceil<std::chrono::milliseconds>(give_up_at - clock.steady_now());
        if (left.count() <= 0) return result;
        if (is_first && retry.on_first) retry.on_first(result.error());
        clock.sleep_for(std::min(retry.pause, left));
        if (retry.is_given_up && retry.is_given_up()) return result;
    }
}

}  // namespace det
