#pragma once
#include <det/foundation/clock.hpp>

#include <chrono>

namespace det::slurm {

/// Reads again, twice at most, where slurmctld is restarting or too busy for now: where it was soon clear
/// that there is no answer. For readings only: a submission that got no answer may have arrived.
template <class Read, class IsSilence>
auto read_patiently(Clock& clock, Read const& read, IsSilence const& is_silence) {
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
