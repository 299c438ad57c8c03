#pragma once
#include <det/collectives/tensor.hpp>

#include "boundary.hpp"

namespace det::capi {

/// The number of det.h as a DataType. An unknown number gives an unknown type, which checkpoints and
/// collectives refuse: collectives do so on all ranks, because the other ranks wait for this one.
tensor::DataType to_data_type(det_dtype dtype);
/// The same for an operation.
collectives::ReduceOp to_reduce_op(det_reduce_op op);

}  // namespace det::capi
