#pragma once
#include <det/foundation/clock.hpp>

#include <chrono>

namespace det::slurm {

/// Repeats a query at most twice if slurmctld did not answer and the query failed within 5 s, because
/// slurmctld is restarting or busy. Not for submissions: a submission without an answer may have succeeded.
template <class Read, class IsSilence>
auto read_with_retries(Clock& clock, Read const& read, IsSilence const& is_silence) {
    using namespace std::chrono_literals;
    constexpr auto soon = 5s;
    for (auto const pause : {300ms, 1500ms}) {
        auto const start = clock.steady_now();
        auto answer = read();
        if (!is_silence(answer) || clock.steady_now() - start > soon) return answer;
        clock.sleep_for(pause);
    }
    return read();
}

}  // namespace det::slurm
