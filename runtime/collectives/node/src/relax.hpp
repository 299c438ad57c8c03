#pragma once
#ifdef __SSE2__
#include <immintrin.h>
#endif

namespace det::collectives::node {

/// Some ten nanoseconds in which this core does not poll.
inline void relax() {
#ifdef __SSE2__
    _mm_pause();
#endif
}

}  // namespace det::collectives::node
