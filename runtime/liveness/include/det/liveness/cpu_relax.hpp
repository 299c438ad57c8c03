#pragma once
#ifdef __SSE2__
#include <immintrin.h>
#endif

namespace det::liveness {

/// One step of a spin loop. On x86 the core pauses for some tens of nanoseconds; elsewhere it does nothing.
inline void cpu_relax() {
#ifdef __SSE2__
    _mm_pause();
#endif
}

}  // namespace det::liveness
