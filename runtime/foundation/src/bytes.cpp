#include <det/foundation/bytes.hpp>
#include <det/foundation/instruction_sets.hpp>

#include <array>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace det {
namespace {

constexpr std::uint32_t reflected_polynomial = 0x82f63b78;

// A CRC is a polynomial over GF(2) with the highest power in the lowest bit.
constexpr std::uint32_t one = 1U << 31;
constexpr std::uint32_t x_to_the_8 = 1U << 23;

constexpr std::uint32_t times_x(std::uint32_t a) {
    return (a >> 1) ^ ((a & 1) != 0 ? reflected_polynomial : 0);
}

constexpr std::uint32_t multiply(std::uint32_t a, std::uint32_t b) {
    std::uint32_t product = 0;
    for (auto power = one; power != 0; power >>= 1, b = times_x(b)) product ^= (a & power) != 0 ? b : 0;
    return product;
}

/// The factor by which a CRC is multiplied when `size_bytes` bytes follow.
constexpr std::uint32_t shift_by(std::uint64_t size_bytes) {
    auto result = one;
    for (auto square = x_to_the_8; size_bytes != 0; size_bytes >>= 1, square = multiply(square, square)) {
        if ((size_bytes & 1) != 0) result = multiply(result, square);
    }
    return result;
}

constexpr std::array<std::uint32_t, 256> make_table() {
    std::array<std::uint32_t, 256> table{};
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
        auto crc = byte;
        for (int bit = 0; bit < 8; ++bit) crc = times_x(crc);
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
// The crc32 instruction has a latency of three cycles and a throughput of one, so three lanes are
// interleaved.
constexpr std::size_t lane_size_bytes = 4096;
constexpr auto lane_shift = shift_by(lane_size_bytes);

std::uint64_t word_at(std::byte const* bytes) {
    std::uint64_t word;
    std::memcpy(&word, bytes, sizeof word);
    return word;
}

[[gnu::target("sse4.2")]] std::uint32_t crc32c_of_three_lanes(std::byte const* bytes, std::uint32_t crc) {
    std::uint64_t a = crc, b = 0, c = 0;
    for (std::size_t at = 0; at < lane_size_bytes; at += 8) {
        a = _mm_crc32_u64(a, word_at(bytes + at));
        b = _mm_crc32_u64(b, word_at(bytes + at + lane_size_bytes));
        c = _mm_crc32_u64(c, word_at(bytes + at + 2 * lane_size_bytes));
    }
    auto const two = multiply(static_cast<std::uint32_t>(a), lane_shift) ^ static_cast<std::uint32_t>(b);
    return multiply(two, lane_shift) ^ static_cast<std::uint32_t>(c);
}

[[gnu::target("sse4.2")]] std::uint32_t crc32c_by_instruction(std::span<std::byte const> bytes,
                                                              std::uint32_t crc) {
    for (; bytes.size() >= 3 * lane_size_bytes; bytes = bytes.subspan(3 * lane_size_bytes))
        crc = crc32c_of_three_lanes(bytes.data(), crc);
    std::uint64_t wide = crc;
    for (; bytes.size() >= 8; bytes = bytes.subspan(8)) wide = _mm_crc32_u64(wide, word_at(bytes.data()));
    auto narrow = static_cast<std::uint32_t>(wide);
    for (auto const byte : bytes) narrow = _mm_crc32_u8(narrow, static_cast<unsigned char>(byte));
    return narrow;
}
#endif

}  // namespace

std::uint32_t crc32c(std::span<std::byte const> bytes, std::uint32_t so_far) {
#if defined(__x86_64__)
    static bool const has_instruction = has_instruction_set(InstructionSet::sse4_2);
    if (has_instruction) return ~crc32c_by_instruction(bytes, ~so_far);
#endif
    return ~crc32c_by_table(bytes, ~so_far);
}

std::uint32_t crc32c(std::string_view bytes, std::uint32_t so_far) {
    return crc32c(std::as_bytes(std::span(bytes.data(), bytes.size())), so_far);
}

std::uint32_t crc32c_combine(std::uint32_t first, std::uint32_t second, std::uint64_t second_size_bytes) {
    return multiply(first, shift_by(second_size_bytes)) ^ second;
}

std::string format_hex32(std::uint32_t value) {
    constexpr char digits[] = "0123456789abcdef";
    std::string out(8, '0');
    for (int i = 7; i >= 0; --i, value >>= 4) out[static_cast<std::size_t>(i)] = digits[value & 0xf];
    return out;
}

}  // namespace det
