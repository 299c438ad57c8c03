#include <det/foundation/instruction_sets.hpp>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

// The compiler's __builtin_cpu_supports() would link a constructor that executes CPUID twenty times in each
// program, also in one that never computes a sum. A hypervisor intercepts each: 7 us on a virtual machine of
// 2026, so 0.13 ms of each start of det-submit.
namespace det {

#if defined(__x86_64__)
namespace {

struct Registers {
    unsigned a = 0, b = 0, c = 0, d = 0;
};

/// The result of CPUID; zeros if the processor lacks this leaf.
Registers cpuid(unsigned leaf) {
    Registers registers;
    if (__get_cpuid_count(leaf, 0, &registers.a, &registers.b, &registers.c, &registers.d) == 0) return {};
    return registers;
}

constexpr bool has_all(unsigned word, unsigned bits) { return (word & bits) == bits; }

/// Which registers the kernel saves and restores: XCR0, which can be read if CPUID says OSXSAVE.
bool kernel_keeps(unsigned state) {
    if (!has_all(cpuid(1).c, bit_OSXSAVE)) return false;
    unsigned low = 0, high = 0;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return has_all(low, state);
}

constexpr unsigned state_of_avx = 0x6;      // XMM, YMM
constexpr unsigned state_of_avx512 = 0xe6;  // and masks, ZMM

}  // namespace

bool has_instruction_set(InstructionSet set) {
    switch (set) {
        case InstructionSet::sse4_2: {
            Registers registers;  // all processors have leaf 1
            __cpuid(1, registers.a, registers.b, registers.c, registers.d);
            return has_all(registers.c, bit_SSE4_2);
        }
        case InstructionSet::avx2:
            return kernel_keeps(state_of_avx) && has_all(cpuid(7).b, bit_AVX2);
        case InstructionSet::avx512:
            return kernel_keeps(state_of_avx512) &&
                   has_all(cpuid(7).b, bit_AVX512F | bit_AVX512BW | bit_AVX512VL | bit_AVX512DQ);
    }
    return false;
}
#else
bool has_instruction_set(InstructionSet) { return false; }
#endif

}  // namespace det
