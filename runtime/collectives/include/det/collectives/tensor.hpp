#pragma once
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace det::collectives {

enum class DataType : std::uint8_t { uint8, int32, int64, float32, float64, float16, bfloat16 };
inline constexpr std::size_t data_types = 7;

/// mean is for floating point. Sums and products of integers wrap; a NaN on any rank makes min and max NaN.
/// float16 and bfloat16 are combined as float32, and rounded once, at the end.
enum class ReduceOp : std::uint8_t { sum, mean, min, max, prod };
inline constexpr std::size_t reduce_ops = 5;

/// Callers from other languages may pass any number.
constexpr bool is_known(DataType type) { return static_cast<std::size_t>(type) < data_types; }
constexpr bool is_known(ReduceOp op) { return static_cast<std::size_t>(op) < reduce_ops; }

std::string_view name_of(DataType type);
std::string_view name_of(ReduceOp op);
inline constexpr std::size_t sizes_bytes[data_types] = {1, 4, 8, 4, 8, 2, 2};
constexpr std::size_t size_of(DataType type) { return sizes_bytes[static_cast<std::size_t>(type)]; }
bool is_floating(DataType type);

/// The halves of other libraries have the same bits.
struct Float16 {
    std::uint16_t bits = 0;
    friend bool operator==(Float16 const&, Float16 const&) = default;
};
struct BFloat16 {
    std::uint16_t bits = 0;
    friend bool operator==(BFloat16 const&, BFloat16 const&) = default;
};

template <class T>
concept Element = std::same_as<T, std::uint8_t> || std::same_as<T, std::int32_t> ||
    std::same_as<T, std::int64_t> || std::same_as<T, float> || std::same_as<T, double> ||
    std::same_as<T, Float16> || std::same_as<T, BFloat16>;

template <Element T>
constexpr DataType data_type_of() {
    if constexpr (std::same_as<T, std::uint8_t>) return DataType::uint8;
    if constexpr (std::same_as<T, std::int32_t>) return DataType::int32;
    if constexpr (std::same_as<T, std::int64_t>) return DataType::int64;
    if constexpr (std::same_as<T, float>) return DataType::float32;
    if constexpr (std::same_as<T, double>) return DataType::float64;
    if constexpr (std::same_as<T, Float16>) return DataType::float16;
    if constexpr (std::same_as<T, BFloat16>) return DataType::bfloat16;
}

/// Elements in memory, whatever their type: what the algorithms see. Aligned as the type asks for.
struct Tensor {
    void* data = nullptr;
    std::size_t count = 0;
    DataType type = DataType::uint8;

    template <Element T>
    static Tensor of(std::span<T> values) {
        return {values.data(), values.size(), data_type_of<T>()};
    }
};

/// The same, to be read only.
struct ConstTensor {
    void const* data = nullptr;
    std::size_t count = 0;
    DataType type = DataType::uint8;

    ConstTensor() = default;
    ConstTensor(void const* memory, std::size_t elements, DataType of_type)
        : data(memory), count(elements), type(of_type) {}
    ConstTensor(Tensor tensor) : ConstTensor(tensor.data, tensor.count, tensor.type) {}

    template <Element T>
    static ConstTensor of(std::span<T const> values) {
        return {values.data(), values.size(), data_type_of<T>()};
    }
};

inline std::span<std::byte> bytes_of(Tensor tensor) {
    return {static_cast<std::byte*>(tensor.data), tensor.count * size_of(tensor.type)};
}
inline std::span<std::byte const> bytes_of(ConstTensor tensor) {
    return {static_cast<std::byte const*>(tensor.data), tensor.count * size_of(tensor.type)};
}

}  // namespace det::collectives
