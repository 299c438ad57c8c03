#include "type.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace det::config::schema {

constinit Type const anything{};
constinit Type const boolean{.shape = Shape::boolean};
constinit Type const text{.shape = Shape::text};
constinit Type const integer{.shape = Shape::integer};
constinit Type const non_negative_integer{.shape = Shape::integer, .minimum = 0};
constinit Type const positive_integer{.shape = Shape::integer, .minimum = 1};
constinit Type const number{.shape = Shape::number};
constinit Type const text_list = list_of(text);
constinit Type const integer_list = list_of(integer);
constinit Type const free_map{.shape = Shape::map, .item = &anything};

namespace {

using yaml::Kind;

std::string expected_integer(Type const& type) {
    constexpr auto unbounded = std::numeric_limits<std::int64_t>::max();
    if (type.maximum != unbounded) return fmt::format("an integer from {} to {}", type.minimum, type.maximum);
    if (type.minimum >= 0) return fmt::format("an integer of at least {}", type.minimum);
    return "an integer";
}

std::string expected_number(Type const& type) {
    return type.exclusive_minimum >= 0 ? fmt::format("a number above {}", type.exclusive_minimum)
                                       : "a number";
}

std::string expected_list(Type const& type) {
    if (type.item == &text) return "a list of strings";
    if (type.item == &integer || type.item->shape == Shape::integer) return "a list of integers";
    return "a list";
}

std::string expected_either(Type const& type) {
    std::string out;
    for (auto const* alternative : type.alternatives)
        out += (out.empty() ? "" : " or ") + expected(*alternative);
    return out;
}

}  // namespace

Key const* find_key(std::span<Key const> keys, std::string_view name) {
    auto const found =
        std::find_if(keys.begin(), keys.end(), [&](Key const& key) { return key.name == name; });
    return found != keys.end() ? &*found : nullptr;
}

Member const* find_member(Type const& type, yaml::Node const& value) {
    auto const* tag = value.find(type.tag);
    if (tag == nullptr || !tag->is_text()) return nullptr;
    auto const found = std::find_if(type.members.begin(), type.members.end(),
                                    [&](Member const& member) { return member.name == *tag->text(); });
    return found != type.members.end() ? &*found : nullptr;
}

bool allows_other_keys(Type const& type, yaml::Node const& value) {
    auto const* member = find_member(type, value);
    return type.allows_other_keys || (member != nullptr && member->allows_other_keys);
}

Key const* find_key(Type const& type, yaml::Node const& value, std::string_view name) {
    if (auto const* key = find_key(type.keys, name)) return key;
    if (type.shape != Shape::tagged_union) return nullptr;
    if (auto const* member = find_member(type, value)) return find_key(member->keys, name);
    for (auto const& member : type.members) {
        if (auto const* key = find_key(member.keys, name)) return key;
    }
    return nullptr;
}

bool accepts(Type const& type, Kind kind) {
    switch (type.shape) {
        case Shape::anything:
        case Shape::hyperparameter:
            return true;
        case Shape::boolean:
            return kind == Kind::boolean;
        case Shape::integer:
            return kind == Kind::integer;
        case Shape::number:
            return kind == Kind::integer || kind == Kind::real;
        case Shape::text:
        case Shape::choice:
            return kind == Kind::text;
        case Shape::list:
            return kind == Kind::list;
        case Shape::map:
        case Shape::object:
        case Shape::tagged_union:
            return kind == Kind::map;
        case Shape::either:
            return find_alternative(type, kind) != nullptr;
    }
    return false;
}

Type const* find_alternative(Type const& type, Kind kind) {
    if (type.shape != Shape::either) return &type;
    auto const found = std::find_if(type.alternatives.begin(), type.alternatives.end(),
                                    [&](Type const* alternative) { return accepts(*alternative, kind); });
    return found != type.alternatives.end() ? *found : nullptr;
}

std::string expected(Type const& type) {
    if (!type.expected.empty()) return std::string(type.expected);
    switch (type.shape) {
        case Shape::anything:
        case Shape::hyperparameter:
            return "a value";
        case Shape::boolean:
            return "true or false";
        case Shape::integer:
            return expected_integer(type);
        case Shape::number:
            return expected_number(type);
        case Shape::text:
            return "a string";
        case Shape::choice:
            return fmt::format("one of {}", fmt::join(type.choices, ", "));
        case Shape::list:
            return expected_list(type);
        case Shape::map:
        case Shape::object:
        case Shape::tagged_union:
            return "a map";
        case Shape::either:
            return expected_either(type);
    }
    return "a value";
}

}  // namespace det::config::schema
