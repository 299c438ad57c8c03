#include "normalise.hpp"

namespace det::config {
namespace {

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

}  // namespace

Node normalise(Node const& value, Type const& type) {
    if (value.is_null()) return value;
    auto const one_form = type.normalise != nullptr ? type.normalise(value) : value;
    auto const* alternative = find_alternative(type, one_form.kind());
    if (alternative == nullptr || !accepts(*alternative, one_form.kind())) return one_form;
    return alternative == &type ? normalise_contents(one_form, type) : normalise(one_form, *alternative);
}

}  // namespace det::config
