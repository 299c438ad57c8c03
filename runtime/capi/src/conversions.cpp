#include "conversions.hpp"

namespace det::capi {
namespace {

using collectives::ReduceOp;
using tensor::DataType;

constexpr bool same(det_dtype number, DataType type) { return number == static_cast<det_dtype>(type); }
static_assert(same(DET_BOOL, DataType::boolean) && same(DET_U8, DataType::uint8) &&
              same(DET_I8, DataType::int8) && same(DET_F8_E4M3, DataType::float8_e4m3) &&
              same(DET_F8_E5M2, DataType::float8_e5m2) && same(DET_U16, DataType::uint16) &&
              same(DET_I16, DataType::int16) && same(DET_F16, DataType::float16) &&
              same(DET_BF16, DataType::bfloat16) && same(DET_U32, DataType::uint32) &&
              same(DET_I32, DataType::int32) && same(DET_F32, DataType::float32) &&
              same(DET_U64, DataType::uint64) && same(DET_I64, DataType::int64) &&
              same(DET_F64, DataType::float64));

constexpr bool same(det_reduce_op number, ReduceOp op) { return number == static_cast<det_reduce_op>(op); }
static_assert(same(DET_REDUCE_SUM, ReduceOp::sum) && same(DET_REDUCE_MEAN, ReduceOp::mean) &&
              same(DET_REDUCE_MIN, ReduceOp::min) && same(DET_REDUCE_MAX, ReduceOp::max) &&
              same(DET_REDUCE_PROD, ReduceOp::prod));

/// Converts a number to an enumerator. An unknown number becomes the first value after the known ones.
template <class Enum>
Enum to_enum(std::int32_t number, std::size_t count) {
    bool const is_known = number >= 0 && static_cast<std::size_t>(number) < count;
    return static_cast<Enum>(is_known ? static_cast<std::size_t>(number) : count);
}

}  // namespace

DataType to_data_type(det_dtype dtype) { return to_enum<DataType>(dtype, tensor::data_type_count); }
ReduceOp to_reduce_op(det_reduce_op op) { return to_enum<ReduceOp>(op, collectives::reduce_ops); }

Result<Json> parse(char const* text, std::string_view name) {
    DET_TRY(require(text, name));
    auto value = try_parse_json(text);
    if (value.is_discarded()) return Error{codes::misuse, fmt::format("{} is no JSON: {}", name, text)};
    return value;
}

Json metadata_of(char const* text) {
    if (text == nullptr) return Json::object();
    auto value = try_parse_json(text);
    return value.is_discarded() ? Json(nullptr) : value;
}

void write_uuid(char* to, std::string_view uuid) {
    auto const length = std::min<std::size_t>(uuid.size(), DET_UUID_SIZE - 1);
    std::memcpy(to, uuid.data(), length);
    to[length] = '\0';
}

}  // namespace det::capi
