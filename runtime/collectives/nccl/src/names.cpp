#include "names.hpp"

namespace det::collectives::nccl {
namespace {

constexpr ncclDataType_t types[collectives::reducible_types.size()] = {
    ncclUint8, ncclInt32, ncclInt64, ncclFloat32, ncclFloat64, ncclFloat16, ncclBfloat16,
};
constexpr ncclRedOp_t ops[collectives::reduce_ops] = {ncclSum, ncclAvg, ncclMin, ncclMax, ncclProd};

}  // namespace

ncclDataType_t type_of(collectives::DataType type) { return types[collectives::reducible_index(type)]; }
ncclRedOp_t op_of(collectives::ReduceOp op) { return ops[static_cast<std::size_t>(op)]; }

}  // namespace det::collectives::nccl
