#pragma once
#include <det/collectives/tensor.hpp>

#include <nccl.h>

namespace det::collectives::nccl {

ncclDataType_t type_of(collectives::DataType type);
ncclRedOp_t op_of(collectives::ReduceOp op);

}  // namespace det::collectives::nccl
