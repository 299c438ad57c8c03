// The names of keys and of their words, which the completion of the shell offers.
#include <det/config/key_reference.hpp>
#include <det/foundation/text.hpp>

#include <algorithm>

#include "schema/tables.hpp"

namespace det::config {
namespace {

using schema::Key;
using schema::Shape;
using schema::Type;

constexpr std::size_t depth_max = 32;

/// The types among which a value of this type can be.
std::vector<Type const*> alternatives_of(Type const& type) {
    if (type.shape != Shape::either) return {&type};
    std::vector<Type const*> all;
    for (auto const* alternative : type.alternatives) {
        auto const of_one = alternatives_of(*alternative);
        all.insert(all.end(), of_one.begin(), of_one.end());
    }
    return all;
}

std::vector<Key const*> keys_of(Type const& type) {
    std::vector<Key const*> keys;
    auto const add = [&](std::span<Key const> table) {
        for (auto const& key : table) {
            bool const is_new =
                std::ranges::none_of(keys, [&](auto* each) { return each->name == key.name; });
            if (is_new && key.ignored_reason().empty()) keys.push_back(&key);
        }
    };
    for (auto const* alternative : alternatives_of(type)) {
        add(alternative->keys);
        for (auto const& member : alternative->members) {
            if (member.replacement.empty()) add(member.keys);
        }
    }
    return keys;
}

/// The type of the value of a key; nullptr if there is no such key.
Type const* type_of(std::string_view path, Type const& top) {
    auto const* type = &top;
    if (path.empty()) return type;
    auto const names = split(path, '.');
    if (names.size() > depth_max) return nullptr;
    for (auto const name : names) {
        Type const* next = nullptr;
        for (auto const* alternative : alternatives_of(*type)) {
            if (alternative->shape == Shape::map) next = alternative->item;
        }
        for (auto const* key : keys_of(*type)) {
            if (key->name == name) next = &key->type;
        }
        if (next == nullptr) return nullptr;
        type = next;
    }
    return type;
}

/// The union whose kind the last key of the path names ("searcher.name"); nullptr if it names none.
Type const* union_named_by(std::string_view path) {
    auto const point = path.rfind('.');
    if (point == path.npos) return nullptr;
    auto const* type = type_of(path.substr(0, point), schema::experiment);
    if (type == nullptr) return nullptr;
    for (auto const* alternative : alternatives_of(*type)) {
        if (alternative->shape == Shape::tagged_union && alternative->tag == path.substr(point + 1))
            return alternative;
    }
    return nullptr;
}

}  // namespace

std::vector<KeyBelow> keys_below(std::string_view path) {
    std::vector<KeyBelow> below;
    auto const* type = type_of(path, schema::experiment);
    if (type == nullptr) return below;
    for (auto const* key : keys_of(*type)) {
        bool const has_keys = !keys_of(key->type).empty();
        bool const takes_value = !has_keys || key->type.shape == Shape::either;
        below.push_back({std::string(key->name), std::string(key->help), has_keys, takes_value});
    }
    return below;
}

std::vector<std::string> words_for_key(std::string_view path) {
    std::vector<std::string> words;
    if (auto const* of_kinds = union_named_by(path)) {
        for (auto const& member : of_kinds->members) {
            if (member.replacement.empty()) words.emplace_back(member.name);
        }
        return words;
    }
    auto const* type = type_of(path, schema::experiment);
    if (type == nullptr) return words;
    for (auto const* alternative : alternatives_of(*type)) {
        for (auto const choice : alternative->choices) words.emplace_back(choice);
        if (alternative->shape == Shape::boolean) words.insert(words.end(), {"true", "false"});
    }
    return words;
}

}  // namespace det::config
