#include "fake_gpu.hpp"

#include <cstdint>

FakeGpu& fake_gpu() {
    static FakeGpu gpu;
    return gpu;
}

extern "C" {
#pragma GCC visibility push(default)

/// Copies from this address, and those behind them, wait until another address is held; 0: none.
void fakeHoldCopiesFrom(std::uintptr_t from) {
    std::lock_guard const held(fake_gpu().mutex);
    fake_gpu().held = reinterpret_cast<void*>(from);
}
/// Copies from this address never end, and queries of events behind them fail; 0: none.
void fakeBreakCopiesFrom(std::uintptr_t from) {
    std::lock_guard const held(fake_gpu().mutex);
    fake_gpu().broken = reinterpret_cast<void*>(from);
}

#pragma GCC visibility pop
}  // extern "C"
