#include <det/config/layers.hpp>

#include "schema/tables.hpp"

namespace det::config {
namespace {

using schema::Key;
using schema::Secrecy;
using schema::Type;
using yaml::Node;

/// Every value in it, however deep.
Node hidden(Node const& value) {
    if (value.is_null()) return value;
    Node::List items;
    for (auto const& item : value.items()) items.push_back(hidden(item));
    if (value.is_list()) return Node(std::move(items), value.place());
    std::vector<Node::Entry> entries;
    for (auto const& entry : value.entries())
        entries.push_back({entry.key, entry.key_place, hidden(entry.value)});
    if (value.is_map()) return Node(std::move(entries), value.place());
    return Node(Node::Scalar(std::string("********")), value.place());
}

Node mask(Node const& value, Type const& type) {
    if (!value.is_map()) return value;
    std::vector<Node::Entry> entries;
    for (auto const& entry : value.entries()) {
        auto const* key = find_key(type, value, entry.key);
        auto shown = key == nullptr                    ? entry.value
                     : key->secrecy == Secrecy::hidden ? hidden(entry.value)
                                                       : mask(entry.value, key->type);
        entries.push_back({entry.key, entry.key_place, std::move(shown)});
    }
    return Node(std::move(entries), value.place());
}

}  // namespace

Node mask_secrets(Node const& document) { return mask(document, schema::experiment); }

}  // namespace det::config
