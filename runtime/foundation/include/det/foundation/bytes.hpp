#pragma once
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

namespace det {

// The file formats and all supported machines are little-endian, so values are copied without conversion.
template <std::integral T>
void append_value(std::string& out, T value) {
    char bytes[sizeof value];
    std::memcpy(bytes, &value, sizeof value);
    out.append(bytes, sizeof value);
}

/// Reads the value at `offset`. The caller must check that it is within `bytes`.
template <std::integral T>
T read_value(std::string_view bytes, std::size_t offset) {
    T value;
    std::memcpy(&value, bytes.data() + offset, sizeof value);
    return value;
}

/// CRC-32C (Castagnoli). To continue after an earlier part, pass its result as `so_far`.
std::uint32_t crc32c(std::span<std::byte const> bytes, std::uint32_t so_far = 0);
std::uint32_t crc32c(std::string_view bytes, std::uint32_t so_far = 0);
/// The CRC-32C of two concatenated parts, from the CRC-32C of each part.
std::uint32_t crc32c_combine(std::uint32_t first, std::uint32_t second, std::uint64_t second_size_bytes);

/// Formats as eight lower-case hexadecimal digits.
std::string format_hex32(std::uint32_t value);

}  // namespace det
