#pragma once
#include <det/collectives/tensor.hpp>

#include <nccl.h>

namespace det::nccl {

ncclDataType_t type_of(collectives::DataType type);
ncclRedOp_t op_of(collectives::ReduceOp op);

}  // namespace det::nccl
