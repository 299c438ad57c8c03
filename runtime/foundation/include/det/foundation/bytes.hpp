#pragma once
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

namespace det {

// Our files are little-endian and so is every machine that we build for: a value is its bytes.
template <std::integral T>
void append_value(std::string& out, T value) {
    char bytes[sizeof value];
    std::memcpy(bytes, &value, sizeof value);
    out.append(bytes, sizeof value);
}

/// The value at `offset`; the caller has checked that it lies within `bytes`.
template <std::integral T>
T read_value(std::string_view bytes, std::size_t offset) {
    T value;
    std::memcpy(&value, bytes.data() + offset, sizeof value);
    return value;
}

/// CRC-32C (Castagnoli). To go on from an earlier part, pass what it returned.
std::uint32_t crc32c(std::span<std::byte const> bytes, std::uint32_t so_far = 0);
std::uint32_t crc32c(std::string_view bytes, std::uint32_t so_far = 0);
/// The checksum of two parts in a row, from each part's own.
std::uint32_t crc32c_combine(std::uint32_t first, std::uint32_t second, std::uint64_t second_size_bytes);

/// Eight lower-case hexadecimal digits.
std::string format_hex32(std::uint32_t value);

}  // namespace det
