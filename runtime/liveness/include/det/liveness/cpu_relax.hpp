#pragma once
#ifdef __SSE2__
#include <immintrin.h>
#endif

namespace det::liveness {

/// One step of a spin loop: some ten nanoseconds in which this core does not access memory.
inline void cpu_relax() {
#ifdef __SSE2__
    _mm_pause();
#endif
}

}  // namespace det::liveness
