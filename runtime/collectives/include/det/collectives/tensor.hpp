#pragma once
#include <det/tensor/tensor.hpp>

#include <array>

namespace det::collectives {

using tensor::BFloat16;
using tensor::bytes_of;
using tensor::ConstTensor;
using tensor::data_type_of;
using tensor::DataType;
using tensor::Element;
using tensor::Float16;
using tensor::is_floating;
using tensor::name_of;
using tensor::size_of;
using tensor::Tensor;

/// The element types that collectives accept, in the order of the kernels' tables. Any other type is an Error
/// (codes::misuse).
inline constexpr std::array reducible_types{DataType::uint8,   DataType::int32,   DataType::int64,
                                            DataType::float32, DataType::float64, DataType::float16,
                                            DataType::bfloat16};

/// \return the position in reducible_types, or its size for any other type
constexpr std::size_t reducible_index(DataType type) {
    constexpr auto indices = [] {
        std::array<std::uint8_t, tensor::data_type_count> result{};
        for (auto& index : result) index = static_cast<std::uint8_t>(reducible_types.size());
        for (std::size_t i = 0; i < reducible_types.size(); ++i)
            result[static_cast<std::size_t>(reducible_types[i])] = static_cast<std::uint8_t>(i);
        return result;
    }();
    return is_known(type) ? indices[static_cast<std::size_t>(type)] : reducible_types.size();
}
constexpr bool is_reducible(DataType type) { return reducible_index(type) < reducible_types.size(); }

/// How elements are combined. mean is for floating point only. Sums and products of integers wrap around. A
/// NaN on any rank makes min and max NaN. float16 and bfloat16 are combined as float32 and rounded once at
/// the end. In device memory, the device library decides how NaN, float16 and bfloat16 are combined.
enum class ReduceOp : std::uint8_t { sum, mean, min, max, prod };
inline constexpr std::size_t reduce_ops = 5;

/// Whether `op` is one of the enumerators. Callers in other languages may pass any number.
constexpr bool is_known(ReduceOp op) { return static_cast<std::size_t>(op) < reduce_ops; }
std::string_view name_of(ReduceOp op);

}  // namespace det::collectives
