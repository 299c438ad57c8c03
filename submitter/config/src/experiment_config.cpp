#include <det/config/experiment_config.hpp>
#include <det/config/layers.hpp>
#include <det/foundation/text.hpp>
#include <det/yaml/parse.hpp>

#include <cassert>

#include "merge.hpp"
#include "schema/assign.hpp"
#include "schema/tables.hpp"

namespace det::config {
namespace {

using schema::Key;
using schema::Shape;
using schema::Type;
using yaml::Node;

/// The location of defaults. (A temporary instead causes a false warning of gcc 12.)
yaml::Location const nowhere;

/// Removes the locations, because a default is not in the user's files.
Node without_locations(Node const& node) {
    Node::List items;
    for (auto const& item : node.items()) items.push_back(without_locations(item));
    if (node.is_list()) return Node(std::move(items), {});
    std::vector<Node::Entry> entries;
    for (auto const& entry : node.entries())
        entries.push_back({entry.key, nowhere, without_locations(entry.value)});
    return node.is_map() ? Node(std::move(entries), {}) : node.with_location({});
}

Node parse_document_of_default(std::string_view default_value) {
    auto const parsed = yaml::parse_document(default_value, "default");
    assert(parsed.has_value());
    return without_locations(*parsed);
}

Node parse_default(std::string_view default_value) {
    if (default_value == "{}") return Node(std::vector<Node::Entry>{}, {});
    if (default_value == "[]") return Node(Node::List{}, {});
    constexpr std::string_view needs_the_parser = "[{\"";
    if (needs_the_parser.find(default_value.front()) == std::string_view::npos)
        return Node(*yaml::resolve_plain(default_value), {});
    if (default_value != schema::default_log_policies) return parse_document_of_default(default_value);
    // Each configuration takes these twice.
    static Node const policies = parse_document_of_default(default_value);
    return policies;
}

Node fill(Node const& value, Type const& type);

/// \return The map with its defaults: first the keys of the tables in their order, then all other keys.
Node fill_keys(Node const& value, Type const& type) {
    std::vector<Node::Entry> entries;
    auto const* member = find_member(type, value);
    auto const add = [&](std::span<Key const> keys) {
        for (auto const& key : keys) {
            auto const* present = value.find_entry(key.name);
            if (present != nullptr) {
                entries.push_back({present->key, present->key_location, fill(present->value, key.type)});
            } else if (!key.default_value.empty()) {
                entries.push_back(
                    {std::string(key.name), nowhere, fill(parse_default(key.default_value), key.type)});
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
    return Node(std::move(entries), value.location());
}

Node with_default_items(Node const& value, Type const& type) {
    if (type.default_items.empty()) return value;
    Diagnostics none;  // two lists never conflict
    return merge(value, parse_default(type.default_items), &type, "", none);
}

Node fill_items(Node const& written, Type const& type) {
    auto const value = with_default_items(written, type);
    Node::List items;
    for (auto const& item : value.items()) items.push_back(fill(item, *type.item));
    return Node(std::move(items), value.location());
}

Node fill(Node const& value, Type const& declared) {
    auto const* type = find_alternative(declared, value.kind());
    if (type == nullptr || !accepts(*type, value.kind())) return value;
    if (type->shape == Shape::object || type->shape == Shape::tagged_union) return fill_keys(value, *type);
    return type->shape == Shape::list ? fill_items(value, *type) : value;
}

}  // namespace

Node add_defaults(Node const& value, Type const& type) {
    bool const has_keys = type.shape == Shape::object || type.shape == Shape::tagged_union;
    bool const is_empty_map = value.is_null() && has_keys;
    return fill(is_empty_map ? Node(std::vector<Node::Entry>{}, value.location()) : value, type);
}

Node add_defaults(Node const& merged) { return add_defaults(merged, schema::experiment); }

Result<ExperimentConfig, Diagnostics> read_experiment_config(yaml::Node const& merged) {
    auto const effective = add_defaults(normalise(merged, schema::experiment));
    if (auto problems = check_for_creation(effective); problems.has_errors()) return problems;
    ExperimentConfig config;
    schema::assign_object(&config, effective, schema::experiment);
    config.effective = effective;
    return config;
}

namespace {

/// The pattern of the default log policy of this name; nothing if there is none.
std::optional<std::string> default_pattern(std::string_view name) {
    auto const policies = parse_default(schema::default_log_policies);
    for (auto const& policy : policies.items()) {
        if (*policy.find("name")->text() == name) return *policy.find("pattern")->text();
    }
    return std::nullopt;
}

}  // namespace

std::optional<std::string> pattern_of(LogPolicy const& policy) {
    if (policy.pattern || !policy.action || !policy.name) return policy.pattern;
    return default_pattern(*policy.name);
}

bool is_default_log_policy(std::string_view name) { return default_pattern(name).has_value(); }

std::optional<SourceSpan> ExperimentConfig::where(std::string_view path) const {
    auto const* node = &effective;
    for (auto const key : split(path, '.')) {
        node = node->find(key);
        if (node == nullptr) return std::nullopt;
    }
    return node->location().span();
}

}  // namespace det::config
