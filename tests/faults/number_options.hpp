#pragma once
#include <det/foundation/text.hpp>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace det::faults {

struct NumberOption {
    std::string_view name;  // "--rounds"
    std::uint32_t* value;
};

/// Parses "--name NUMBER" pairs. Returns false for anything else.
inline bool read_numbers(int argc, char** argv, std::initializer_list<NumberOption> options) {
    for (int i = 1; i < argc; i += 2) {
        auto const* const option = std::ranges::find(options, std::string_view(argv[i]), &NumberOption::name);
        auto const number =
            i + 1 < argc ? parse_integer<std::uint32_t>(argv[i + 1]) : std::optional<std::uint32_t>();
        if (option == options.end() || !number || *number == 0) return false;
        *option->value = *number;
    }
    return true;
}

}  // namespace det::faults
