// This file is compiled once per instruction set; DET_KERNELS names the table. It calls no inline function of
// a library except compiler intrinsics: the linker could keep the copy of an inline function that was
// compiled here for all callers, and that copy would need this instruction set.
#pragma once
#include <stddef.h>
#include <stdint.h>
#ifdef __SSE2__
#include <immintrin.h>
#endif

#include "kernels.hpp"

namespace det::collectives {
namespace {

struct Half {
    uint16_t bits;
};
struct Brain {
    uint16_t bits;
};

inline uint32_t bits_of(float value) { return __builtin_bit_cast(uint32_t, value); }
inline float float_of(uint32_t bits) { return __builtin_bit_cast(float, bits); }

// These conversions have no branches, so that the compiler can vectorise them.

inline float widen(Half half) {
    uint32_t const sign = (half.bits & 0x8000u) << 16;
    uint32_t const rest = (half.bits & 0x7fffu) << 13;
    uint32_t const normal = rest + (112u << 23);  // the exponent biases are 15 and 127
    uint32_t const infinite = rest | 0x7f80'0000u;
    uint32_t const subnormal = bits_of(float_of(rest + (113u << 23)) - float_of(113u << 23));
    uint32_t const magnitude = rest < (1u << 23) ? subnormal : rest >= (31u << 23) ? infinite : normal;
    return float_of(magnitude | sign);
}

inline Half narrow(float value, Half) {
    uint32_t const bits = bits_of(value);
    uint32_t const magnitude = bits & 0x7fff'ffffu;
    // Adding 0.5 makes the addition round at the last place of a subnormal float16.
    uint32_t const subnormal = bits_of(float_of(magnitude) + 0.5f) - bits_of(0.5f);
    uint32_t const normal = (magnitude - (112u << 23) + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
    uint32_t const infinite = magnitude > 0x7f80'0000u ? 0x7e00u : 0x7c00u;
    uint32_t const rounded = magnitude < (113u << 23)    ? subnormal
                             : magnitude >= (143u << 23) ? infinite
                                                         : normal;
    return {static_cast<uint16_t>(rounded | ((bits >> 16) & 0x8000u))};
}

inline float widen(Brain brain) { return float_of(static_cast<uint32_t>(brain.bits) << 16); }

inline Brain narrow(float value, Brain) {
    uint32_t const bits = bits_of(value);
    uint32_t const rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
    return {static_cast<uint16_t>(value == value ? rounded : 0x7fc0u)};
}

template <class T>
inline T widen(T value) {
    return value;
}
template <class T>
inline T narrow(T value, T) {
    return value;
}

/// The type in which elements are combined. Integers are combined as unsigned, where overflow wraps.
template <class T>
struct Traits {
    using Wide = T;
    static constexpr bool is_floating = true;
};
template <>
struct Traits<Half> {
    using Wide = float;
    static constexpr bool is_floating = true;
};
template <>
struct Traits<Brain> : Traits<Half> {};
template <>
struct Traits<uint8_t> {
    using Wide = uint8_t;
    static constexpr bool is_floating = false;
};
template <>
struct Traits<int32_t> {
    using Wide = int32_t;
    static constexpr bool is_floating = false;
};
template <>
struct Traits<int64_t> {
    using Wide = int64_t;
    static constexpr bool is_floating = false;
};

inline uint8_t wrapping(uint8_t value) { return value; }
inline uint32_t wrapping(int32_t value) { return static_cast<uint32_t>(value); }
inline uint64_t wrapping(int64_t value) { return static_cast<uint64_t>(value); }
inline float wrapping(float value) { return value; }
inline double wrapping(double value) { return value; }

struct Sum {
    static constexpr bool is_mean = false;
    template <class T>
    static T apply(T below, T above) {
        return static_cast<T>(wrapping(below) + wrapping(above));
    }
};
struct Mean : Sum {
    static constexpr bool is_mean = true;
};
struct Product {
    static constexpr bool is_mean = false;
    template <class T>
    static T apply(T below, T above) {
        return static_cast<T>(wrapping(below) * wrapping(above));
    }
};
struct Minimum {
    static constexpr bool is_mean = false;
    template <class T>
    static T apply(T below, T above) {
        bool const above_stays = (above < below) | (above != above);  // a NaN is not equal to itself
        return above_stays ? above : below;
    }
};
struct Maximum {
    static constexpr bool is_mean = false;
    template <class T>
    static T apply(T below, T above) {
        bool const above_stays = (below < above) | (above != above);
        return above_stays ? above : below;
    }
};

/// Replaces any NaN by the same NaN, because which operand's NaN a sum keeps depends on the instruction.
inline float canonicalize_nan(float value) { return value == value ? value : __builtin_nanf(""); }
inline double canonicalize_nan(double value) { return value == value ? value : __builtin_nan(""); }

template <class T, class Op>
inline T finish(typename Traits<T>::Wide value, typename Traits<T>::Wide ranks) {
    if constexpr (Op::is_mean) value /= ranks;
    if constexpr (Traits<T>::is_floating) value = canonicalize_nan(value);
    return narrow(value, T{});
}

// Lets the compiler vectorise a loop in which `out` is one of the sources: each element is read before it is
// written.
#ifdef __clang__
#define DET_IS_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define DET_IS_INDEPENDENT _Pragma("GCC ivdep")
#endif

/// Reduces the data in blocks. Not inlined into the loop for two ranks, which would then need the stack space
/// of a block too.
template <class T, class Op>
[[gnu::noinline]] void reduce_many(T* results, std::byte const* const* sources, size_t ranks, size_t count) {
    using Wide = typename Traits<T>::Wide;
    auto const* const first = reinterpret_cast<T const*>(sources[0]);
    auto const* const second = reinterpret_cast<T const*>(sources[1]);
    auto const divisor = static_cast<Wide>(ranks);
    constexpr size_t block = 512;
    Wide sums[block];
    for (size_t begin = 0; begin < count; begin += block) {
        size_t const size = count - begin < block ? count - begin : block;
        for (size_t i = 0; i < size; ++i)
            sums[i] = Op::apply(widen(first[begin + i]), widen(second[begin + i]));
        for (size_t rank = 2; rank < ranks; ++rank) {
            auto const* const next = reinterpret_cast<T const*>(sources[rank]) + begin;
            for (size_t i = 0; i < size; ++i) sums[i] = Op::apply(sums[i], widen(next[i]));
        }
        for (size_t i = 0; i < size; ++i) results[begin + i] = finish<T, Op>(sums[i], divisor);
    }
}

template <class T, class Op>
void reduce(void* out, std::byte const* const* sources, size_t ranks, size_t count) {
    auto* const results = static_cast<T*>(out);
    if (ranks != 2) return reduce_many<T, Op>(results, sources, ranks, count);
    auto const* const first = reinterpret_cast<T const*>(sources[0]);
    auto const* const second = reinterpret_cast<T const*>(sources[1]);
    DET_IS_INDEPENDENT
    for (size_t i = 0; i < count; ++i) {
        results[i] = finish<T, Op>(Op::apply(widen(first[i]), widen(second[i])), 2);
    }
}

template <class T>
void widen_all(void const* from, float* to, size_t count) {
    auto const* const values = static_cast<T const*>(from);
    for (size_t i = 0; i < count; ++i) to[i] = widen(values[i]);
}

template <class T>
void narrow_all(float const* from, void* to, size_t count) {
    auto* const values = static_cast<T*>(to);
    for (size_t i = 0; i < count; ++i) values[i] = narrow(canonicalize_nan(from[i]), T{});
}

#if defined(__AVX512F__)
using Vector = __m512i;
inline Vector load(void const* from) { return _mm512_loadu_si512(from); }
inline void store(void* to, Vector value) { _mm512_storeu_si512(to, value); }
inline void store_streaming(void* to, Vector value) { _mm512_stream_si512(static_cast<Vector*>(to), value); }
#elif defined(__AVX__)
using Vector = __m256i;
inline Vector load(void const* from) { return _mm256_loadu_si256(static_cast<Vector const*>(from)); }
inline void store(void* to, Vector value) { _mm256_storeu_si256(static_cast<Vector*>(to), value); }
inline void store_streaming(void* to, Vector value) { _mm256_stream_si256(static_cast<Vector*>(to), value); }
#elif defined(__SSE2__)
using Vector = __m128i;
inline Vector load(void const* from) { return _mm_loadu_si128(static_cast<Vector const*>(from)); }
inline void store(void* to, Vector value) { _mm_storeu_si128(static_cast<Vector*>(to), value); }
inline void store_streaming(void* to, Vector value) { _mm_stream_si128(static_cast<Vector*>(to), value); }
#else
struct Vector {
    unsigned char bytes[16];
};
inline Vector load(void const* from) {
    Vector value;
    __builtin_memcpy(&value, from, sizeof value);
    return value;
}
inline void store(void* to, Vector value) { __builtin_memcpy(to, &value, sizeof value); }
inline void store_streaming(void* to, Vector value) { store(to, value); }
#endif

constexpr size_t line_bytes = 64;
constexpr size_t vectors_per_line = line_bytes / sizeof(Vector);

template <void (*put)(void*, Vector)>
inline size_t copy_lines(unsigned char* to, unsigned char const* from, size_t size) {
    size_t done = 0;
    for (; done + line_bytes <= size; done += line_bytes) {
        Vector line[vectors_per_line];
        for (size_t i = 0; i < vectors_per_line; ++i) line[i] = load(from + done + i * sizeof(Vector));
        for (size_t i = 0; i < vectors_per_line; ++i) put(to + done + i * sizeof(Vector), line[i]);
    }
    return done;
}

void copy(void* to, void const* from, size_t size) {
    auto* const target = static_cast<unsigned char*>(to);
    auto const* const source = static_cast<unsigned char const*>(from);
    auto const done = copy_lines<store>(target, source, size);
    __builtin_memcpy(target + done, source + done, size - done);
}

/// Writes whole cache lines with stores that bypass the cache, and the partial lines at both ends normally.
void stream(void* to, void const* from, size_t size) {
    auto* const target = static_cast<unsigned char*>(to);
    auto const* const source = static_cast<unsigned char const*>(from);
    size_t head = (line_bytes - reinterpret_cast<uintptr_t>(target) % line_bytes) % line_bytes;
    if (head > size) head = size;
    __builtin_memcpy(target, source, head);
    auto const done = head + copy_lines<store_streaming>(target + head, source + head, size - head);
    __builtin_memcpy(target + done, source + done, size - done);
}

}  // namespace

#define DET_ROW(T) \
    { reduce<T, Sum>, nullptr, reduce<T, Minimum>, reduce<T, Maximum>, reduce<T, Product> }
#define DET_FLOATING_ROW(T) \
    { reduce<T, Sum>, reduce<T, Mean>, reduce<T, Minimum>, reduce<T, Maximum>, reduce<T, Product> }

// Rows in the order of reducible_types, and within a row the operations in the order of ReduceOp.
Kernels const DET_KERNELS{
    {DET_ROW(uint8_t), DET_ROW(int32_t), DET_ROW(int64_t), DET_FLOATING_ROW(float), DET_FLOATING_ROW(double),
     DET_FLOATING_ROW(Half), DET_FLOATING_ROW(Brain)},
    copy,
    stream,
    {widen_all<Half>, widen_all<Brain>},
    {narrow_all<Half>, narrow_all<Brain>},
};

}  // namespace det::collectives
