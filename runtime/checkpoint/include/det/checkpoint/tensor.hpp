#pragma once
#include <det/foundation/result.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace det::checkpoint {

using Extents = std::vector<std::uint64_t>;

/// A part of a tensor: from `begin`, so long in each dimension. A scalar has no dimensions and one element.
struct Box {
    Extents begin;
    Extents shape;
    friend auto operator<=>(Box const&, Box const&) = default;
};

/// How many elements; nothing where the number does not fit 64 bits.
std::optional<std::uint64_t> count_elements(Extents const& shape);
/// What both have; nothing where they have nothing in common.
std::optional<Box> intersect(Box const& a, Box const& b);

/// Types of elements, as safetensors knows them.
enum class Dtype { boolean, u8, i8, f8_e4m3, f8_e5m2, u16, i16, f16, bf16, u32, i32, f32, u64, i64, f64 };

std::string_view to_string(Dtype dtype);  // "F32"
std::optional<Dtype> parse_dtype(std::string_view text);
std::size_t size_bytes_of(Dtype dtype);

/// A named tensor, and this rank's part of it in memory: dense, row by row. Ranks that hold the same part
/// hold the same values: one of them writes it.
struct Tensor {
    std::string name;
    Dtype dtype = Dtype::f32;
    Extents shape;  // of the whole
    Box part;
    /// Saving reads it, loading writes it. In memory of the process, or of a device: DeviceMemory.
    std::byte* data = nullptr;

    static Tensor whole(std::string name, Dtype dtype, Extents shape, void* data);
    static Tensor slice(std::string name, Dtype dtype, Extents shape, Box part, void* data);
    /// Of the part.
    std::uint64_t size_bytes() const;
};

using State = std::vector<Tensor>;

/// codes::misuse where a name is empty or given twice, a part leaves its tensor, or data is missing.
Status check_state(State const& state);

}  // namespace det::checkpoint
