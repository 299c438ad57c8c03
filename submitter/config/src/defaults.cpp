#include "defaults.hpp"

#include <det/config/layers.hpp>
#include <det/protocol/json.hpp>
#include <det/yaml/parse.hpp>

#include <cassert>

#include "merge.hpp"
#include "schema/tables.hpp"

namespace det::config {
namespace {

using schema::Key;
using schema::Shape;
using schema::Type;
using yaml::Node;

/// Of defaults. (A temporary in its place makes gcc 12 warn of what is no fault.)
yaml::Place const nowhere;

/// A default was written nowhere in the user's files.
Node without_places(Node const& node) {
    Node::List items;
    for (auto const& item : node.items()) items.push_back(without_places(item));
    if (node.is_list()) return Node(std::move(items), {});
    std::vector<Node::Entry> entries;
    for (auto const& entry : node.entries())
        entries.push_back({entry.key, nowhere, without_places(entry.value)});
    return node.is_map() ? Node(std::move(entries), {}) : node.at({});
}

Node preset_value(std::string_view preset) {
    if (preset == "{}") return Node(std::vector<Node::Entry>{}, {});
    if (preset == "[]") return Node(Node::List{}, {});
    constexpr std::string_view needs_the_parser = "[{\"";
    if (needs_the_parser.find(preset.front()) == std::string_view::npos)
        return Node(*yaml::resolve_plain(preset), {});
    auto const parsed = yaml::parse_document(preset, "default");
    assert(parsed.has_value());
    return without_places(*parsed);
}

Node fill(Node const& value, Type const& type);

/// The tables' keys in their order, then whatever else there is.
Node fill_keys(Node const& value, Type const& type) {
    std::vector<Node::Entry> entries;
    auto const* member = find_member(type, value);
    auto const add = [&](std::span<Key const> keys) {
        for (auto const& key : keys) {
            auto const* present = value.find_entry(key.name);
            if (present != nullptr) {
                entries.push_back({present->key, present->key_place, fill(present->value, key.type)});
            } else if (!key.preset.empty()) {
                entries.push_back({std::string(key.name), nowhere, fill(preset_value(key.preset), key.type)});
            }
        }
    };
    add(type.keys);
    if (member != nullptr) add(member->keys);
    for (auto const& entry : value.entries()) {
        bool const is_done = find_key(type.keys, entry.key) != nullptr ||
                             (member != nullptr && find_key(member->keys, entry.key) != nullptr);
        if (!is_done) entries.push_back(entry);
    }
    return Node(std::move(entries), value.place());
}

Node with_default_items(Node const& value, Type const& type) {
    if (type.beneath.empty()) return value;
    Diagnostics none;  // two lists always fit together
    return merge(value, preset_value(type.beneath), &type, "", none);
}

Node fill_items(Node const& written, Type const& type) {
    auto const value = with_default_items(written, type);
    Node::List items;
    for (auto const& item : value.items()) items.push_back(fill(item, *type.item));
    return Node(std::move(items), value.place());
}

Node fill(Node const& value, Type const& declared) {
    auto const* type = find_way(declared, value.kind());
    if (type == nullptr || !accepts(*type, value.kind())) return value;
    if (type->shape == Shape::object || type->shape == Shape::tagged_union) return fill_keys(value, *type);
    return type->shape == Shape::list ? fill_items(value, *type) : value;
}

}  // namespace

Node add_defaults(Node const& value, Type const& type) {
    bool const has_keys = type.shape == Shape::object || type.shape == Shape::tagged_union;
    bool const is_empty_map = value.is_null() && has_keys;
    return fill(is_empty_map ? Node(std::vector<Node::Entry>{}, value.place()) : value, type);
}

Node add_defaults(Node const& merged) { return add_defaults(merged, schema::experiment); }

}  // namespace det::config
