#include <det/foundation/uuid.hpp>

#include <cstdint>
#include <fmt/format.h>

#include "random_words.hpp"

namespace det {

std::string make_uuid() {
    auto const [a, b, c, d] = random_words<4>();
    return fmt::format("{:08x}-{:04x}-4{:03x}-{:04x}-{:04x}{:08x}", a, b >> 16, b & 0xfff,
                       0x8000 | (c >> 16 & 0x3fff), c & 0xffff, d);
}

bool is_uuid(std::string_view text) {
    constexpr std::string_view shape = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
    if (text.size() != shape.size()) return false;
    for (std::size_t i = 0; i < shape.size(); ++i) {
        bool const digit = (text[i] >= '0' && text[i] <= '9') || (text[i] >= 'a' && text[i] <= 'f');
        if (shape[i] == 'x' ? !digit : text[i] != '-') return false;
    }
    return true;
}

}  // namespace det
