#include <det/search/random.hpp>

#include <bit>
#include <cassert>

namespace det::search {

std::uint32_t Random::below(std::uint64_t bound) {
    assert(bound > 0 && bound <= std::uint64_t{1} << 32);
    auto const limit = static_cast<std::uint32_t>(bound - 1);
    if (limit == 0) return 0;
    auto const mask = static_cast<std::uint32_t>((std::uint64_t{1} << std::bit_width(limit)) - 1);
    for (;;) {
        if (auto const value = bits32() & mask; value <= limit) return value;
    }
}

}  // namespace det::search
