// Random numbers of the kernel. std::random_device is not used: linked statically, that of gcc 12 needs
// glibc 2.36.
#pragma once
#include <array>
#include <cerrno>
#include <cstdint>
#include <exception>
#include <sys/random.h>

namespace det {

template <std::size_t count>
std::array<std::uint32_t, count> random_words() {
    std::array<std::uint32_t, count> words;
    static_assert(sizeof words <= 256, "getrandom() returns so many bytes at once");
    while (::getrandom(words.data(), sizeof words, 0) != static_cast<ssize_t>(sizeof words)) {
        if (errno != EINTR) std::terminate();
    }
    return words;
}

}  // namespace det
