#include <det/yaml/render.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "check.hpp"
#include "determined_schemas.hpp"
#include "schema/tables.hpp"

namespace det::config::conformance {
namespace {

using schema::HyperparameterForm;
using schema::Shape;
using schema::Type;
using yaml::Node;

Node explicit_constant(Node const& value) {
    std::vector<Node::Entry> entries = {
        {"type", value.location(), Node(Node::Scalar(std::string("const")), value.location())},
        {"val", value.location(), value},
    };
    return Node(std::move(entries), value.location());
}

Node hyperparameter_as_written(Node const& value) {
    switch (schema::hyperparameter_form(value)) {
        case HyperparameterForm::constant:
            return explicit_constant(value);
        case HyperparameterForm::searched:
            return value;
        case HyperparameterForm::nested:
            return as_written_by_determined(value, schema::hyperparameters);
    }
    return value;
}

/// The sort key of an item of a set. A key whose value is null counts as absent.
nlohmann::json sort_key(Node const& item) {
    auto json = yaml::to_json(item);
    if (!json.is_object()) return json;
    auto key = nlohmann::json::object();
    for (auto const& [name, value] : json.items()) {
        if (!value.is_null()) key[name] = value;
    }
    return key;
}

bool comes_before(Node const& a, Node const& b) { return sort_key(a) < sort_key(b); }

Node items_as_written(Node const& value, Type const& type, bool is_ordered) {
    Node::List items;
    for (auto const& item : value.items()) items.push_back(as_written_by_determined(item, *type.item));
    if (!is_ordered) std::sort(items.begin(), items.end(), comes_before);
    return Node(std::move(items), value.location());
}

Node entries_as_written(Node const& value, Type const& type) {
    std::vector<Node::Entry> entries;
    for (auto const& entry : value.entries()) {
        auto const* key = type.shape == Shape::map ? nullptr : find_key(type, value, entry.key);
        auto const* inner = key != nullptr ? &key->type : type.item;
        entries.push_back({entry.key, entry.key_location,
                           inner != nullptr ? as_written_by_determined(entry.value, *inner) : entry.value});
    }
    return Node(std::move(entries), value.location());
}

using Difference = std::optional<std::string>;

std::string path_text(Path const& path) {
    auto const text = path.text();
    return "<config>" + (text.empty() || text.starts_with('[') ? text : "." + text);
}

Difference difference(Node const& expected, Node const& found, Path const& path);

Difference key_difference(Node const& expected, Node const& found, Path const& path) {
    static Node const absent;
    for (auto const& entry : expected.entries()) {
        auto const* other = found.find(entry.key);
        if (auto found_difference =
                difference(entry.value, other != nullptr ? *other : absent, path / entry.key))
            return found_difference;
    }
    for (auto const& entry : found.entries()) {
        if (expected.find(entry.key) != nullptr) continue;
        if (auto found_difference = difference(absent, entry.value, path / entry.key))
            return found_difference;
    }
    return std::nullopt;
}

Difference item_difference(Node const& expected, Node const& found, Path const& path) {
    if (expected.items().size() != found.items().size()) {
        return fmt::format("{} has {} items, expected {}", path_text(path), found.items().size(),
                           expected.items().size());
    }
    for (std::size_t i = 0; i < expected.items().size(); ++i) {
        if (auto found_difference = difference(expected.items()[i], found.items()[i], path[i]))
            return found_difference;
    }
    return std::nullopt;
}

Difference difference(Node const& expected, Node const& found, Path const& path) {
    bool const is_anything = expected.is_text() && *expected.text() == "*";
    if (is_anything && !found.is_null()) return std::nullopt;
    if (expected.is_map() && found.is_map()) return key_difference(expected, found, path);
    if (expected.is_list() && found.is_list()) return item_difference(expected, found, path);
    bool const is_same_number =
        expected.is_number() && found.is_number() && expected.number() == found.number();
    if (is_same_number || expected == found) return std::nullopt;
    return fmt::format("{} is {}, expected {}", path_text(path), describe(found),
                       is_anything ? "any other value" : describe(expected));
}

}  // namespace

Node as_written_by_determined(Node const& value, Type const& declared) {
    if (declared.shape == Shape::hyperparameter) return hyperparameter_as_written(value);
    auto const* alternative = find_alternative(declared, value.kind());
    if (alternative == nullptr || !accepts(*alternative, value.kind())) return value;
    bool const is_ordered = declared.merge != schema::Merge::as_set && &declared != &schema::log_policies;
    if (value.is_list() && alternative->item != nullptr)
        return items_as_written(value, *alternative, is_ordered);
    return value.is_map() ? entries_as_written(value, *alternative) : value;
}

std::optional<std::string> find_difference(Node const& expected, Node const& found) {
    return difference(expected, found, Path{});
}

}  // namespace det::config::conformance
