#pragma once
#include <cstddef>

namespace det::collectives {

/// The loops over elements, compiled for one instruction set.
struct Kernels {
    /// out = sources[0] op sources[1] op ...; `out` may be one of the sources.
    using Reduce = void (*)(void* out, std::byte const* const* sources, std::size_t ranks, std::size_t count);

    static constexpr std::size_t types = 7;
    static constexpr std::size_t ops = 5;
    Reduce reduce[types][ops];  // null: no such operation
    void (*copy)(void* to, void const* from, std::size_t size_bytes);
    void (*stream)(void* to, void const* from, std::size_t size_bytes);
    void (*widen[2])(void const* from, float* to, std::size_t count);  // float16, bfloat16
    void (*narrow[2])(float const* from, void* to, std::size_t count);
};

extern Kernels const baseline_kernels;
#ifdef __x86_64__
extern Kernels const avx2_kernels;
extern Kernels const avx512_kernels;
#endif

}  // namespace det::collectives
