#pragma once
#include <det/collectives/tensor.hpp>

#include "boundary.hpp"

namespace det::capi {

/// Converts a number of det.h to a DataType. An unknown number gives an unknown type, which checkpoints and
/// collectives refuse. Collectives refuse it on all ranks, because the other ranks wait for this one.
tensor::DataType to_data_type(det_dtype dtype);
/// Converts a number of det.h to a ReduceOp. An unknown number gives an unknown operation, which collectives
/// refuse.
collectives::ReduceOp to_reduce_op(det_reduce_op op);

}  // namespace det::capi
