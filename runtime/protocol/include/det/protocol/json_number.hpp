#pragma once
#include <det/protocol/json_value.hpp>

#include <optional>
#include <string_view>

// JSON has no NaN and no infinities. In journals, in the index and in answers they are the texts "NaN",
// "Infinity" and "-Infinity", which Python's float() reads.
namespace det {

/// The text of a number that is not finite; empty for all others.
std::string_view non_finite_name(double value);
/// The number with this text.
std::optional<double> find_non_finite(std::string_view name);

/// A number, or the text of one that is not finite.
Json number_to_json(double value);
/// The reverse of number_to_json(); nullopt for all other values, booleans and null too.
std::optional<double> number_from_json(Json const& value);

}  // namespace det
