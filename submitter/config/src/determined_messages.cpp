#include "determined_messages.hpp"

#include <fmt/format.h>

namespace det::config {
namespace {

using schema::Shape;
using schema::Type;
using yaml::Kind;

/// JSON Schema's name of a type. Determined reads an integer as a number.
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

std::string wrong_type_message(yaml::Node const& value, Type const& expected) {
    if (!expected.determined_message.empty()) return std::string(expected.determined_message);
    std::string names;
    for (auto const* alternative : expected.alternatives)
        names += std::string(json_name(*alternative)) + " or ";
    if (expected.alternatives.empty()) names = std::string(json_name(expected)) + " or ";
    // Every optional value may be null.
    return fmt::format("expected {}null, but got {}", names, json_name(value.kind()));
}

std::string out_of_range_message(yaml::Node const& value, Type const& expected) {
    auto const found = *value.number();
    if (found <= expected.exclusive_minimum)
        return fmt::format("must be > {} but found {}", expected.exclusive_minimum, found);
    if (found < static_cast<double>(expected.minimum))
        return fmt::format("must be >= {} but found {}", expected.minimum, found);
    return fmt::format("must be <= {} but found {}", expected.maximum, found);
}

std::string unknown_choice_message(Type const& expected) {
    if (!expected.determined_message.empty()) return std::string(expected.determined_message);
    return fmt::format("value must be one of \"{}\"", fmt::join(expected.choices, "\", \""));
}

std::string unknown_key_message(std::string_view key) {
    return fmt::format("additionalProperties \"{}\" not allowed", key);
}

std::string missing_key_message(std::string_view key) {
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
