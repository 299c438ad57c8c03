#include "kernels.hpp"

namespace det::collectives {
namespace {

Kernels const& choose() {
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq")) {
        return avx512_kernels;
    }
    if (__builtin_cpu_supports("avx2")) return avx2_kernels;
#endif
    return baseline_kernels;
}

}  // namespace

Kernels const& kernels() {
    static Kernels const& chosen = choose();
    return chosen;
}

}  // namespace det::collectives
