#pragma once

namespace det {

/// Extensions of x86-64 for which there is code of its own.
enum class InstructionSet {
    sse4_2,
    avx2,
    avx512,  // F, BW, VL and DQ
};

/// Whether the processor has these instructions and the kernel keeps their registers. Executes CPUID at each
/// call. False on other processors.
bool has_instruction_set(InstructionSet set);

}  // namespace det
