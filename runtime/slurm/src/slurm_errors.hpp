#pragma once
#include <det/foundation/clock.hpp>
#include <det/foundation/error.hpp>

#include <chrono>
#include <string_view>

namespace det::slurm {

/// Whether Slurm's message means that slurmctld did not answer, rather than that it refused.
bool says_unreachable(std::string_view text);

/// The error slurm_unreachable. `source` is a command of Slurm or a library.
Error unreachable(std::string_view source, std::string_view message);
/// The error slurm_unreachable or slurm_refused, depending on the message.
Error failure(std::string_view source, std::string_view message);

/// Repeats a query at most twice if slurmctld did not answer and the query failed within 5 s: slurmctld may
/// be restarting or busy. Not for submissions: a submission without an answer may have succeeded.
template <class Read, class IsUnanswered>
auto read_with_retries(Clock& clock, Read const& read, IsUnanswered const& is_unanswered) {
    using namespace std::chrono_literals;
    constexpr auto quick_failure_max = 5s;
    for (auto const pause : {300ms, 1500ms}) {
        auto const start = clock.steady_now();
        auto answer = read();
        if (!is_unanswered(answer) || clock.steady_now() - start > quick_failure_max) return answer;
        clock.sleep_for(pause);
    }
    return read();
}

}  // namespace det::slurm
