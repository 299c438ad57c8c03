#include "merge.hpp"

#include <det/protocol/json.hpp>
#include <det/yaml/render.hpp>

#include <fmt/format.h>
#include <unordered_set>

#include "schema/tables.hpp"

namespace det::config {
namespace {

using schema::Merge;
using schema::Shape;
using schema::Type;
using yaml::Node;

Node normalise_items(Node const& value, Type const& type) {
    Node::List items;
    items.reserve(value.items().size());
    for (auto const& item : value.items()) items.push_back(normalise(item, *type.item));
    return Node(std::move(items), value.location());
}

/// A null means that the key is absent, except for the user's own keys and for hyperparameters, where null is
/// a value.
bool is_absent(Node const& value, Type const* type) {
    return value.is_null() && type != nullptr && type->shape != Shape::hyperparameter &&
           type->shape != Shape::anything;
}

template <class TypeOfKey>
Node normalise_entries(Node const& value, TypeOfKey const& type_of_key) {
    std::vector<Node::Entry> entries;
    entries.reserve(value.entries().size());
    for (auto const& entry : value.entries()) {
        Type const* type = type_of_key(entry.key);
        if (is_absent(entry.value, type)) continue;
        entries.push_back(
            {entry.key, entry.key_location, type != nullptr ? normalise(entry.value, *type) : entry.value});
    }
    return Node(std::move(entries), value.location());
}

Node normalise_contents(Node const& value, Type const& type) {
    switch (type.shape) {
        case Shape::list:
            return normalise_items(value, type);
        case Shape::map:
            return normalise_entries(value, [&](std::string_view) { return type.item; });
        case Shape::object:
        case Shape::tagged_union:
            return normalise_entries(value, [&](std::string_view name) {
                auto const* key = find_key(type, value, name);
                return key != nullptr ? &key->type : nullptr;
            });
        default:
            return value;
    }
}

std::string below(std::string const& path, std::string_view key) {
    return path.empty() ? std::string(key) : fmt::format("{}.{}", path, key);
}

Type const* type_of(Type const* owner, Node const& value, std::string_view name) {
    if (owner == nullptr) return nullptr;
    if (owner->shape == Shape::map) return owner->item;
    auto const* key = find_key(*owner, value, name);
    return key != nullptr ? &key->type : nullptr;
}

/// \return The part of the lower value that the higher one inherits. If the two values of a union have
/// different members, this is only the common keys.
Node inheritable(Node const& high, Node const& low, Type const* type) {
    if (type == nullptr) return low;
    auto const offered = type->inheritable != nullptr ? type->inheritable(high, low) : low;
    if (type->shape != Shape::tagged_union) return offered;
    auto const* wanted = high.find(type->tag);
    auto const* given = offered.find(type->tag);
    if (wanted == nullptr || given == nullptr || *wanted == *given) return offered;
    std::vector<Node::Entry> common;
    for (auto const& entry : offered.entries()) {
        if (schema::find_key(type->keys, entry.key) != nullptr) common.push_back(entry);
    }
    return Node(std::move(common), offered.location());
}

Node merge_maps(Node const& high, Node const& offered, Type const* type, std::string const& path,
                Diagnostics& problems) {
    auto const low = inheritable(high, offered, type);
    std::vector<Node::Entry> entries;
    entries.reserve(high.entries().size() + low.entries().size());
    for (auto const& entry : high.entries()) {
        auto const* default_items = low.find(entry.key);
        entries.push_back(default_items == nullptr
                              ? entry
                              : Node::Entry{entry.key, entry.key_location,
                                            merge(entry.value, *default_items, type_of(type, high, entry.key),
                                                  below(path, entry.key), problems)});
    }
    for (auto const& entry : low.entries()) {
        if (high.find(entry.key) == nullptr) entries.push_back(entry);
    }
    return Node(std::move(entries), high.location());
}

/// A text that is equal for equal scalars only.
std::string identity(Node const& node) { return node.is_text() ? "'" + *node.text() : describe(node); }

Node union_of(Node const& high, Node const& low) {
    Node::List items;
    std::unordered_set<std::string> seen;
    for (auto const* side : {&low, &high}) {
        for (auto const& item : side->items()) {
            if (seen.insert(identity(item)).second) items.push_back(item);
        }
    }
    return Node(std::move(items), high.location());
}

/// \return The higher list, then the lower list's items that it does not have. Items are compared by
/// `item_key`; an item without this key is compared as a whole.
Node merge_by_item_key(Node const& high, Node const& low, std::string_view item_key) {
    auto const identity_of = [&](Node const& item) {
        auto const* key = item.find(item_key);
        return key != nullptr ? identity(*key) : to_line(yaml::to_json(item));
    };
    auto items = high.items();
    std::unordered_set<std::string> taken;
    for (auto const& item : high.items()) taken.insert(identity_of(item));
    for (auto const& item : low.items()) {
        if (!taken.contains(identity_of(item))) items.push_back(item);
    }
    return Node(std::move(items), high.location());
}

Node merge_lists(Node const& high, Node const& low, Type const* type) {
    auto const rule = type != nullptr ? type->merge : Merge::natural;
    if (rule == Merge::as_set) return union_of(high, low);
    if (rule == Merge::by_item_key) return merge_by_item_key(high, low, type->item_key);
    auto items = low.items();
    items.insert(items.end(), high.items().begin(), high.items().end());
    return Node(std::move(items), high.location());
}

bool fit_together(Node const& high, Node const& low) {
    return high.kind() == low.kind() || (high.is_number() && low.is_number());
}

Error conflict(Node const& high, Node const& low, std::string const& path) {
    return Error{codes::merge_conflict,
                 fmt::format("{} is {} here and {} at {}", path, kind_name(high.kind()),
                             kind_name(low.kind()), low.location().text()),
                 "give both the same type", high.location().span()};
}

/// Hyperparameters merge only if both are nested maps, so that a range never inherits a part of another
/// range.
bool is_atomic(Node const& high, Node const& low, Type const* type) {
    if (type == nullptr) return false;
    if (type->shape == Shape::hyperparameter) {
        constexpr auto nested = schema::HyperparameterForm::nested;
        return schema::hyperparameter_form(high) != nested || schema::hyperparameter_form(low) != nested;
    }
    return type->merge == Merge::atomic;
}

/// \return The type whose merge rule applies: for `either` without a merge rule, the alternative that accepts
/// the higher value.
Type const* merging_type(Type const* type, Node const& high) {
    if (type == nullptr || type->shape != Shape::either || type->merge != Merge::natural) return type;
    return find_alternative(*type, high.kind());
}

}  // namespace

Node normalise(Node const& value, Type const& type) {
    if (value.is_null()) return value;
    auto const one_form = type.normalise != nullptr ? type.normalise(value) : value;
    auto const* alternative = find_alternative(type, one_form.kind());
    if (alternative == nullptr || !accepts(*alternative, one_form.kind())) return one_form;
    return alternative == &type ? normalise_contents(one_form, type) : normalise(one_form, *alternative);
}

Node merge(Node const& high, Node const& low, Type const* declared, std::string const& path,
           Diagnostics& problems) {
    if (is_atomic(high, low, declared)) return high;
    if (high.is_null()) return low;
    if (low.is_null()) return high;
    if (!fit_together(high, low)) {
        problems.report(conflict(high, low, path));
        return high;
    }
    auto const* type = merging_type(declared, high);
    if (high.is_list()) return merge_lists(high, low, type);
    if (!high.is_map()) return high;
    if (declared != nullptr && declared->shape == Shape::hyperparameter) type = &schema::hyperparameters;
    return merge_maps(high, low, type, path, problems);
}

}  // namespace det::config
