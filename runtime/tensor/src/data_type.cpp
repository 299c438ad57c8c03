#include <det/tensor/data_type.hpp>

#include <algorithm>
#include <array>

namespace det::tensor {
namespace {

struct TypeRow {
    DataType type;
    std::string_view name;
    std::string_view safetensors_name;
    bool is_floating = false;
};

constexpr std::array<TypeRow, data_type_count> rows{{
    {DataType::boolean, "bool", "BOOL"},
    {DataType::uint8, "uint8", "U8"},
    {DataType::int8, "int8", "I8"},
    {DataType::float8_e4m3, "float8_e4m3", "F8_E4M3", true},
    {DataType::float8_e5m2, "float8_e5m2", "F8_E5M2", true},
    {DataType::uint16, "uint16", "U16"},
    {DataType::int16, "int16", "I16"},
    {DataType::float16, "float16", "F16", true},
    {DataType::bfloat16, "bfloat16", "BF16", true},
    {DataType::uint32, "uint32", "U32"},
    {DataType::int32, "int32", "I32"},
    {DataType::float32, "float32", "F32", true},
    {DataType::uint64, "uint64", "U64"},
    {DataType::int64, "int64", "I64"},
    {DataType::float64, "float64", "F64", true},
}};

constexpr bool rows_are_in_order() {
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (rows[i].type != static_cast<DataType>(i)) return false;
    }
    return true;
}
static_assert(rows_are_in_order());

TypeRow const& row_of(DataType type) { return rows[static_cast<std::size_t>(type)]; }

}  // namespace

bool is_floating(DataType type) { return row_of(type).is_floating; }
std::string_view name_of(DataType type) { return row_of(type).name; }
std::string_view safetensors_name(DataType type) { return row_of(type).safetensors_name; }

std::optional<DataType> parse_safetensors_name(std::string_view text) {
    auto const* const row = std::ranges::find(rows, text, &TypeRow::safetensors_name);
    return row == rows.end() ? std::nullopt : std::optional(row->type);
}

}  // namespace det::tensor
