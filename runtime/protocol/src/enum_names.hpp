#pragma once
#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

namespace det {

/// The names of the enumerators of an enumeration, in their order.
template <std::size_t N>
using EnumNames = std::array<std::string_view, N>;

template <class E, std::size_t N>
constexpr std::string_view name_in(EnumNames<N> const& names, E value) {
    return names.at(static_cast<std::size_t>(value));
}

template <class E, std::size_t N>
std::optional<E> find_named(EnumNames<N> const& names, std::string_view text) {
    auto const found = std::ranges::find(names, text);
    return found == names.end() ? std::nullopt : std::optional(static_cast<E>(found - names.begin()));
}

}  // namespace det
