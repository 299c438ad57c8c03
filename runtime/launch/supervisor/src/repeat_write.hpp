#pragma once
#include <det/foundation/error_codes.hpp>
#include <det/launch/supervisor/supervise.hpp>

#include <chrono>
#include <fmt/format.h>

namespace det::launch::supervisor {

/// Repeats a write to the experiment's files that fails because of the file system (disk full, quota, input
/// or output error), for ten minutes at most. Logs the first failure. Returns the last result.
template <class Write>
auto repeat_write(SupervisorContext const& context, Write const& write) {
    constexpr std::chrono::minutes timeout{10};
    constexpr std::chrono::seconds pause{1};
    auto const give_up_at = context.clock.steady_now() + timeout;
    for (bool is_first = true;; is_first = false) {
        auto result = write();
        bool const may_succeed_later = !result && result.error().code == codes::file_system;
        if (!may_succeed_later || context.clock.steady_now() >= give_up_at) return result;
        if (is_first) context.log(fmt::format("{}: this is tried again", result.error().message));
        context.clock.sleep_for(pause);
    }
}

}  // namespace det::launch::supervisor
