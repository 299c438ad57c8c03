#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace det::tensor {

/// Element types of the safetensors format; newer versions of the format have more. The values are the
/// numbers of det.h (`DET_BOOL` ...).
enum class DataType : std::uint8_t {
    boolean,
    uint8,
    int8,
    float8_e4m3,
    float8_e5m2,
    uint16,
    int16,
    float16,
    bfloat16,
    uint32,
    int32,
    float32,
    uint64,
    int64,
    float64
};
inline constexpr std::size_t data_type_count = 15;

/// Returns whether the value is one of the types above. A caller from another language may pass any number.
constexpr bool is_known(DataType type) { return static_cast<std::size_t>(type) < data_type_count; }

/// \param type a known type, as for all functions below
/// \return bytes of one element
constexpr std::size_t size_of(DataType type) {
    constexpr std::size_t sizes_bytes[data_type_count] = {1, 1, 1, 1, 1, 2, 2, 2, 2, 4, 4, 4, 8, 8, 8};
    return sizes_bytes[static_cast<std::size_t>(type)];
}
/// Returns true for floating point types of any size.
bool is_floating(DataType type);

/// Returns the name for messages and options, for example "float32".
std::string_view name_of(DataType type);
/// Returns the name in safetensors files and manifests, for example "F32".
std::string_view safetensors_name(DataType type);
/// The inverse of safetensors_name(). Returns nullopt for any other text.
std::optional<DataType> parse_safetensors_name(std::string_view text);

}  // namespace det::tensor
