#include <det/foundation/bytes.hpp>

#include <array>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace det {
namespace {

constexpr std::array<std::uint32_t, 256> make_table() {
    constexpr std::uint32_t reflected_polynomial = 0x82f63b78;
    std::array<std::uint32_t, 256> table{};
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
        auto crc = byte;
        for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? reflected_polynomial : 0);
        table[byte] = crc;
    }
    return table;
}

constexpr auto table = make_table();

std::uint32_t crc32c_by_table(std::span<std::byte const> bytes, std::uint32_t crc) {
    for (auto const byte : bytes) crc = table[(crc ^ static_cast<std::uint32_t>(byte)) & 0xff] ^ (crc >> 8);
    return crc;
}

#if defined(__x86_64__)
[[gnu::target("sse4.2")]] std::uint32_t crc32c_by_instruction(std::span<std::byte const> bytes,
                                                              std::uint32_t crc) {
    std::uint64_t wide = crc;
    while (bytes.size() >= 8) {
        std::uint64_t word;
        std::memcpy(&word, bytes.data(), sizeof word);
        wide = _mm_crc32_u64(wide, word);
        bytes = bytes.subspan(8);
    }
    auto narrow = static_cast<std::uint32_t>(wide);
    for (auto const byte : bytes) narrow = _mm_crc32_u8(narrow, static_cast<unsigned char>(byte));
    return narrow;
}
#endif

}  // namespace

std::uint32_t crc32c(std::span<std::byte const> bytes, std::uint32_t so_far) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("sse4.2")) return ~crc32c_by_instruction(bytes, ~so_far);
#endif
    return ~crc32c_by_table(bytes, ~so_far);
}

std::uint32_t crc32c(std::string_view bytes, std::uint32_t so_far) {
    return crc32c(std::as_bytes(std::span(bytes.data(), bytes.size())), so_far);
}

std::string format_hex32(std::uint32_t value) {
    constexpr char digits[] = "0123456789abcdef";
    std::string out(8, '0');
    for (int i = 7; i >= 0; --i, value >>= 4) out[static_cast<std::size_t>(i)] = digits[value & 0xf];
    return out;
}

}  // namespace det
