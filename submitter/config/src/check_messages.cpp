#include "check_messages.hpp"

#include <det/foundation/text.hpp>

#include <fmt/format.h>

#include "schema/tables.hpp"

namespace det::config {
namespace {

using schema::Key;
using schema::Shape;
using schema::Type;
using yaml::Kind;

constexpr std::size_t keys_listed_max = 32;

void add_names(std::vector<std::string_view>& names, std::span<Key const> keys) {
    for (auto const& key : keys) names.push_back(key.name);
}

std::vector<std::string_view> known_names(yaml::Node const& owner, Type const& type) {
    std::vector<std::string_view> names;
    add_names(names, type.keys);
    auto const* chosen = find_member(type, owner);
    for (auto const& member : type.members) {
        if (chosen == nullptr || chosen == &member) add_names(names, member.keys);
    }
    return names;
}

/// The members of a union that have the key.
std::string members_with(Type const& type, std::string_view name) {
    std::string out;
    for (auto const& member : type.members) {
        if (find_key(member.keys, name) == nullptr || !member.replacement.empty()) continue;
        out += (out.empty() ? "" : ", ") + std::string(member.name);
    }
    return out;
}

/// \return Where the key belongs, for a hint such as "move 'x' under 'resources'"; empty if no section has
/// it. Often only the indentation of the key is wrong.
std::string section_of(std::string_view name, Type const& top) {
    if (find_key(top.keys, name) != nullptr) return "out to the top level";
    for (auto const& key : top.keys) {
        bool const has_keys = key.type.shape == Shape::object || key.type.shape == Shape::tagged_union;
        if (has_keys && !key.type.allows_other_keys && find_key(key.type, yaml::Node(), name) != nullptr) {
            return fmt::format("under '{}'", key.name);
        }
    }
    return "";
}

/// Keys that users write at the top level but that belong elsewhere.
struct MisplacedKey {
    std::string_view key, hint;
};
constexpr MisplacedKey misplaced_keys[] = {
    {"template", "name it on the command line: --template NAME; a template refers to no other"},
};

std::string_view hint_for_misplaced(std::string_view key, Type const& type) {
    if (&type != &schema::experiment) return {};
    for (auto const& advice : misplaced_keys) {
        if (advice.key == key) return advice.hint;
    }
    return {};
}

std::string hint_for(yaml::Node::Entry const& entry, yaml::Node const& owner, Type const& type,
                     Type const& whole) {
    if (auto const advice = hint_for_misplaced(entry.key, type); !advice.empty()) return std::string(advice);
    auto const others = members_with(type, entry.key);
    if (!others.empty()) return fmt::format("'{}' is for {}", entry.key, others);
    auto const names = known_names(owner, type);
    if (auto const colon = entry.key.find(':'); colon != std::string::npos && entry.value.is_null()) {
        return fmt::format("put a blank after the colon: '{}: {}'", entry.key.substr(0, colon),
                           entry.key.substr(colon + 1));
    }
    if (auto const near = nearest_word(entry.key, names)) return fmt::format("use '{}'", *near);
    if (auto const home = section_of(entry.key, whole); !home.empty())
        return fmt::format("move '{}' {}", entry.key, home);
    if (names.size() <= keys_listed_max) return fmt::format("known here: {}", fmt::join(names, ", "));
    return "";
}

/// \return JSON Schema's name of the kind; "number" for an integer too, as in Determined's messages.
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

Error unknown_key(yaml::Node::Entry const& entry, yaml::Node const& owner, Type const& type, Path const& path,
                  Type const& whole) {
    auto const where = path.text();
    auto message = fmt::format("unknown key '{}'", entry.key);
    if (!where.empty()) message += " in " + where;
    if (auto const* member = find_member(type, owner)) message += fmt::format(" '{}'", member->name);
    return Error{codes::unknown_key, std::move(message), hint_for(entry, owner, type, whole),
                 entry.key_location.span()};
}

std::string nearest_known_key(std::string_view name, yaml::Node const& owner, Type const& type) {
    return std::string(nearest_word(name, known_names(owner, type)).value_or(""));
}

std::string wrong_type_message(yaml::Node const& value, Type const& expected) {
    if (!expected.determined_message.empty()) return std::string(expected.determined_message);
    std::string names;
    for (auto const* alternative : expected.alternatives)
        names += std::string(json_name(*alternative)) + " or ";
    if (expected.alternatives.empty()) names = std::string(json_name(expected)) + " or ";
    // The message always allows null, because an optional value may be null. It is inexact for required keys
    // and for items of lists, which may not be null.
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
