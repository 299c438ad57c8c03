#pragma once
#ifdef __SSE2__
#include <immintrin.h>
#endif

namespace det::node_collectives {

/// Some ten nanoseconds in which this core does not poll.
inline void relax() {
#ifdef __SSE2__
    _mm_pause();
#endif
}

}  // namespace det::node_collectives
