#pragma once
#include <concepts>
#include <string>
#include <string_view>

namespace det {

/// "node" for one, "nodes" for any other number.
inline std::string plural(std::string_view noun, std::integral auto count) {
    std::string text(noun);
    if (count != 1) text += 's';
    return text;
}

/// "1 node", "4 nodes". \param noun that has a plural with -s
inline std::string count_text(std::integral auto count, std::string_view noun) {
    return std::to_string(count) + ' ' + plural(noun, count);
}

}  // namespace det
