#include "data_types.hpp"

namespace det::capi {
namespace {

using checkpoint::Dtype;
using collectives::DataType;
using collectives::ReduceOp;

constexpr auto unknown_type = static_cast<DataType>(collectives::data_types);
constexpr auto unknown_op = static_cast<ReduceOp>(collectives::reduce_ops);

struct TypeRow {
    det_dtype number;
    Dtype dtype;
    DataType of_collectives = unknown_type;
};
constexpr TypeRow types[] = {
    {DET_BOOL, Dtype::boolean},
    {DET_U8, Dtype::u8, DataType::uint8},
    {DET_I8, Dtype::i8},
    {DET_F8_E4M3, Dtype::f8_e4m3},
    {DET_F8_E5M2, Dtype::f8_e5m2},
    {DET_U16, Dtype::u16},
    {DET_I16, Dtype::i16},
    {DET_F16, Dtype::f16, DataType::float16},
    {DET_BF16, Dtype::bf16, DataType::bfloat16},
    {DET_U32, Dtype::u32},
    {DET_I32, Dtype::i32, DataType::int32},
    {DET_F32, Dtype::f32, DataType::float32},
    {DET_U64, Dtype::u64},
    {DET_I64, Dtype::i64, DataType::int64},
    {DET_F64, Dtype::f64, DataType::float64},
};

constexpr ReduceOp ops[] = {ReduceOp::sum, ReduceOp::mean, ReduceOp::min, ReduceOp::max, ReduceOp::prod};
static_assert(DET_REDUCE_SUM == 0 && DET_REDUCE_MEAN == 1 && DET_REDUCE_MIN == 2 && DET_REDUCE_MAX == 3 &&
              DET_REDUCE_PROD == 4);

TypeRow const* find_type(det_dtype dtype) {
    bool const is_known = dtype >= 0 && static_cast<std::size_t>(dtype) < std::size(types);
    return is_known ? &types[dtype] : nullptr;
}

constexpr bool rows_stand_at_their_numbers() {
    for (std::size_t i = 0; i < std::size(types); ++i) {
        if (types[i].number != static_cast<det_dtype>(i)) return false;
    }
    return true;
}
static_assert(rows_stand_at_their_numbers());

}  // namespace

DataType to_data_type(det_dtype dtype) {
    auto const* row = find_type(dtype);
    return row != nullptr ? row->of_collectives : unknown_type;
}

ReduceOp to_reduce_op(det_reduce_op op) {
    bool const is_known = op >= 0 && static_cast<std::size_t>(op) < std::size(ops);
    return is_known ? ops[op] : unknown_op;
}

std::optional<Dtype> to_dtype(det_dtype dtype) {
    auto const* row = find_type(dtype);
    return row != nullptr ? std::optional(row->dtype) : std::nullopt;
}

}  // namespace det::capi
