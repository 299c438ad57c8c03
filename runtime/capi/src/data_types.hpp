#pragma once
#include <det/checkpoint/tensor.hpp>
#include <det/collectives/tensor.hpp>

#include <optional>

#include "boundary.hpp"

namespace det::capi {

/// What collectives call it. What they don't know is passed on as a value that they refuse, so that the other
/// ranks, which wait for this one, hear of it.
collectives::DataType to_data_type(det_dtype dtype);
collectives::ReduceOp to_reduce_op(det_reduce_op op);

std::optional<checkpoint::Dtype> to_dtype(det_dtype dtype);

}  // namespace det::capi
