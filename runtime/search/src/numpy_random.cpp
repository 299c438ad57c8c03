#include <det/search/numpy_random.hpp>

#include <bit>
#include <limits>

namespace det::search {

std::uint64_t NumpyRandom::at_most(std::uint64_t limit) {
    if (limit == 0) return 0;
    auto const mask = std::numeric_limits<std::uint64_t>::max() >> std::countl_zero(limit);
    bool const is_one_word = limit <= std::numeric_limits<std::uint32_t>::max();
    for (;;) {
        std::uint64_t value = bits32();
        if (!is_one_word) value = value << 32 | bits32();
        if (value &= mask; value <= limit) return value;
    }
}

double NumpyRandom::unit() {
    double const upper = bits32() >> 5;  // 27 bits
    double const lower = bits32() >> 6;  // 26 bits
    return (upper * 0x1p26 + lower) / 0x1p53;
}

}  // namespace det::search
