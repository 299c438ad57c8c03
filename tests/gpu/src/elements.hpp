#pragma once
#include <det/det.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <vector>

#include "driver.hpp"

namespace det::gpu {

/// A type that collectives accept, and how the numbers 1 to 100 or so are encoded in it.
struct ElementType {
    char const* name;
    det_dtype dtype;
    std::size_t size_bytes;
    bool is_integer;
    std::uint64_t (*encode)(unsigned number);
};

// All numbers are exact in all types. bfloat16 is the upper half of a float; float16 has 5 bits of exponent.
inline constexpr ElementType element_types[] = {
    {"u8", DET_U8, 1, true, [](unsigned number) { return std::uint64_t{number}; }},
    {"i32", DET_I32, 4, true, [](unsigned number) { return std::uint64_t{number}; }},
    {"i64", DET_I64, 8, true, [](unsigned number) { return std::uint64_t{number}; }},
    {"f32", DET_F32, 4, false,
     [](unsigned number) { return std::uint64_t{std::bit_cast<std::uint32_t>(static_cast<float>(number))}; }},
    {"f64", DET_F64, 8, false,
     [](unsigned number) { return std::bit_cast<std::uint64_t>(static_cast<double>(number)); }},
    {"f16", DET_F16, 2, false,
     [](unsigned number) {
         auto const bits = std::bit_cast<std::uint32_t>(static_cast<float>(number));
         return std::uint64_t{(bits >> 23) - 127 + 15} << 10 | (bits >> 13 & 0x3ffU);
     }},
    {"bf16", DET_BF16, 2, false,
     [](unsigned number) {
         return std::uint64_t{std::bit_cast<std::uint32_t>(static_cast<float>(number)) >> 16};
     }},
};

/// `count` elements from 1 to 100.
inline std::vector<std::byte> make_elements(ElementType const& type, std::size_t count) {
    std::vector<std::byte> elements(count * type.size_bytes);
    for (std::size_t i = 0; i < count; ++i) {
        auto const bits = type.encode(static_cast<unsigned>(i * 37 % 100 + 1));  // little-endian
        std::memcpy(&elements[i * type.size_bytes], &bits, type.size_bytes);
    }
    return elements;
}

}  // namespace det::gpu
