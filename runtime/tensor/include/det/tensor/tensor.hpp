#pragma once
#include <det/tensor/data_type.hpp>

#include <concepts>
#include <span>

namespace det::tensor {

/// The bits of a half-precision number. The half types of other libraries have the same bits.
struct Float16 {
    std::uint16_t bits = 0;
    friend bool operator==(Float16 const&, Float16 const&) = default;
};
struct BFloat16 {
    std::uint16_t bits = 0;
    friend bool operator==(BFloat16 const&, BFloat16 const&) = default;
};

/// C++ types that collectives accept as elements.
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

/// A view of contiguous elements in memory of the process or of its device. Does not own them. `data` is
/// aligned as the type requires.
struct Tensor {
    void* data = nullptr;
    std::size_t count = 0;  ///< elements, not bytes
    DataType type = DataType::uint8;

    template <Element T>
    static Tensor of(std::span<T> values) {
        return {values.data(), values.size(), data_type_of<T>()};
    }
};

/// Like Tensor, but for reading only.
struct ConstTensor {
    void const* data = nullptr;
    std::size_t count = 0;  ///< elements, not bytes
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

}  // namespace det::tensor
