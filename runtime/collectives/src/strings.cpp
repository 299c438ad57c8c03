#include "strings.hpp"

#include <cstdint>
#include <cstring>

namespace det::collectives {

std::string pack(std::vector<std::string> const& values) {
    std::size_t total = 0;
    for (auto const& value : values) total += sizeof(std::uint64_t) + value.size();
    std::string packed;
    packed.reserve(total);
    for (auto const& value : values) {
        std::uint64_t const size = value.size();
        packed.append(reinterpret_cast<char const*>(&size), sizeof size);
        packed += value;
    }
    return packed;
}

Result<std::vector<std::string>> unpack(std::string_view packed) {
    std::vector<std::string> values;
    while (!packed.empty()) {
        std::uint64_t size = 0;
        if (packed.size() < sizeof size) return Error{codes::transport, "packed values are cut"};
        std::memcpy(&size, packed.data(), sizeof size);
        packed.remove_prefix(sizeof size);
        if (packed.size() < size) return Error{codes::transport, "packed values are cut"};
        values.emplace_back(packed.substr(0, size));
        packed.remove_prefix(size);
    }
    return values;
}

}  // namespace det::collectives
