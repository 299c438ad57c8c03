#include "stream_copy.hpp"

#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace det::checkpoint {
namespace {

#if defined(__x86_64__)
constexpr std::size_t line_bytes = 64;
constexpr std::size_t page_bytes = 4096;
// Two pages side by side: the memory controller has more open rows to work on.
constexpr std::size_t stride_bytes = 2 * page_bytes;

[[gnu::target("avx2")]] inline void stream_line(std::byte* to, std::byte const* from) {
    auto const low = _mm256_loadu_si256(reinterpret_cast<__m256i const*>(from));
    auto const high = _mm256_loadu_si256(reinterpret_cast<__m256i const*>(from + 32));
    _mm256_stream_si256(reinterpret_cast<__m256i*>(to), low);
    _mm256_stream_si256(reinterpret_cast<__m256i*>(to + 32), high);
}

/// `to` begins at a line; size_bytes is a multiple of a line.
[[gnu::target("avx2")]] void stream_lines(std::byte* to, std::byte const* from, std::size_t size_bytes) {
    std::size_t at = 0;
    for (; size_bytes - at >= stride_bytes; at += stride_bytes) {
        for (std::size_t line = 0; line < page_bytes; line += line_bytes) {
            stream_line(to + at + line, from + at + line);
            stream_line(to + at + page_bytes + line, from + at + page_bytes + line);
        }
    }
    for (; at < size_bytes; at += line_bytes) stream_line(to + at, from + at);
    _mm_sfence();
}
#endif

constexpr std::size_t too_small_bytes = 4096;

}  // namespace

void stream_copy(std::byte* to, std::byte const* from, std::size_t size_bytes) {
#if defined(__x86_64__)
    if (size_bytes >= too_small_bytes && __builtin_cpu_supports("avx2")) {
        auto const head = (line_bytes - reinterpret_cast<std::uintptr_t>(to) % line_bytes) % line_bytes;
        auto const lines = (size_bytes - head) / line_bytes * line_bytes;
        std::memcpy(to, from, head);
        stream_lines(to + head, from + head, lines);
        std::memcpy(to + head + lines, from + head + lines, size_bytes - head - lines);
        return;
    }
#endif
    if (size_bytes != 0) std::memcpy(to, from, size_bytes);
}

}  // namespace det::checkpoint
