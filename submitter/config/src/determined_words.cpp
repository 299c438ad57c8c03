#include "determined_words.hpp"

#include <fmt/format.h>

namespace det::config {
namespace {

using schema::Shape;
using schema::Type;
using yaml::Kind;

/// As JSON Schema names types. An integer is a number once it is read.
std::string_view json_name(Kind kind) {
    switch (kind) {
        case Kind::null:
            return "null";
        case Kind::boolean:
            return "boolean";
        case Kind::integer:
        case Kind::real:
            return "number";
        case Kind::text:
            return "string";
        case Kind::list:
            return "array";
        case Kind::map:
            return "object";
    }
    return "null";
}

std::string_view json_name(Type const& type) {
    switch (type.shape) {
        case Shape::boolean:
            return "boolean";
        case Shape::integer:
            return "integer";
        case Shape::number:
            return "number";
        case Shape::text:
        case Shape::choice:
            return "string";
        case Shape::list:
            return "array";
        default:
            return "object";
    }
}

}  // namespace

std::string words_for_kind(yaml::Node const& value, Type const& wanted) {
    if (!wanted.determined.empty()) return std::string(wanted.determined);
    std::string names;
    for (auto const* way : wanted.ways) names += std::string(json_name(*way)) + " or ";
    if (wanted.ways.empty()) names = std::string(json_name(wanted)) + " or ";
    // Whatever may be absent may be null.
    return fmt::format("expected {}null, but got {}", names, json_name(value.kind()));
}

std::string words_for_number(yaml::Node const& value, Type const& wanted) {
    auto const found = *value.number();
    if (found <= wanted.above) return fmt::format("must be > {} but found {}", wanted.above, found);
    if (found < static_cast<double>(wanted.least))
        return fmt::format("must be >= {} but found {}", wanted.least, found);
    return fmt::format("must be <= {} but found {}", wanted.most, found);
}

std::string words_for_choice(Type const& wanted) {
    if (!wanted.determined.empty()) return std::string(wanted.determined);
    return fmt::format("value must be one of \"{}\"", fmt::join(wanted.words, "\", \""));
}

std::string words_for_unknown_key(std::string_view key) {
    return fmt::format("additionalProperties \"{}\" not allowed", key);
}

std::string words_for_missing_key(std::string_view key) {
    return fmt::format("{} is a required property", key);
}

std::string without_path(std::string_view message, std::string_view path) {
    if (message.starts_with(path)) message.remove_prefix(path.size());
    for (std::string_view const separator : {": ", " "}) {
        if (message.starts_with(separator)) message.remove_prefix(separator.size());
    }
    return std::string(message);
}

}  // namespace det::config
