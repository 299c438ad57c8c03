#pragma once
#include <det/foundation/clock.hpp>
#include <det/protocol/directory_layout.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace det::launch::supervisor {

/// A run after this time counts as one that has worked.
inline constexpr std::chrono::seconds quick_failure_limit{30};

/// A failure that the program repeats if it is started again in the same way: it ended by itself, soon after
/// the start of the run.
struct QuickFailure {
    int exit_code = 0;
    std::string last_output;  // of the rank that failed first; its numbers are left out
    friend bool operator==(QuickFailure const&, QuickFailure const&) = default;
};

/// Finds the failure of a run from its journal and from what the wrappers of its ranks recorded. nullopt: the
/// run lasted longer, its program did not fail by itself, or nothing is recorded.
///
/// \param now the end of the run if it is not recorded yet
std::optional<QuickFailure> find_quick_failure(RunLayout const& run, UtcTime now);

/// Replaces each number by '#': times, addresses, processes and ports differ between two runs. Pure.
std::string without_numbers(std::string_view text);

}  // namespace det::launch::supervisor
