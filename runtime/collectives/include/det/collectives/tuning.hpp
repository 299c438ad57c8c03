#pragma once
#include <cstddef>

namespace det::collectives {

/// Where algorithms change over. The same on all ranks, and the same from run to run for bitwise equal
/// results.
struct Tuning {
    /// Up to here data travels within the agreement that begins every operation: one latency less, more
    /// bytes.
    std::size_t small_limit_bytes = 32 * 1024;
    /// Pieces in which larger data is passed on, so that what was received is still in cache when it is used.
    std::size_t segment_bytes = 512 * 1024;
};

}  // namespace det::collectives
