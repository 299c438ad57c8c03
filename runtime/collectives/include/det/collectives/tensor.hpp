#pragma once
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace det::collectives {

enum class DataType : std::uint8_t { uint8, int32, int64, float32, float64 };
inline constexpr std::size_t data_types = 5;

/// mean is for floating point. Sums and products of integers wrap; a NaN on any rank makes min and max NaN.
enum class ReduceOp : std::uint8_t { sum, mean, min, max, prod };
inline constexpr std::size_t reduce_ops = 5;

std::string_view name_of(DataType type);
std::string_view name_of(ReduceOp op);
std::size_t size_of(DataType type);
bool is_floating(DataType type);

template <class T>
concept Element = std::same_as<T, std::uint8_t> || std::same_as<T, std::int32_t> ||
    std::same_as<T, std::int64_t> || std::same_as<T, float> || std::same_as<T, double>;

template <Element T>
constexpr DataType data_type_of() {
    if constexpr (std::same_as<T, std::uint8_t>) return DataType::uint8;
    if constexpr (std::same_as<T, std::int32_t>) return DataType::int32;
    if constexpr (std::same_as<T, std::int64_t>) return DataType::int64;
    if constexpr (std::same_as<T, float>) return DataType::float32;
    if constexpr (std::same_as<T, double>) return DataType::float64;
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

}  // namespace det::collectives
