#pragma once
#include <det/tensor/named_tensor.hpp>

#include <vector>

namespace det::checkpoint {

using tensor::Box;
using tensor::count_elements;
using tensor::DataType;
using tensor::Extents;
using tensor::LocalTensorSlice;
using tensor::NamedTensor;

/// What a rank saves or loads: its parts of named tensors.
using State = std::vector<NamedTensor>;

/// \return codes::misuse: a tensor is not valid (tensor::check), or two have the same name
Status check_state(State const& state);

}  // namespace det::checkpoint
