#pragma once
#ifdef __SSE2__
#include <immintrin.h>
#endif

namespace det::collectives::node {

/// Pauses this core for some ten nanoseconds between polls.
inline void relax() {
#ifdef __SSE2__
    _mm_pause();
#endif
}

}  // namespace det::collectives::node
