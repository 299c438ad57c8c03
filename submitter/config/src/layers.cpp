#include <det/config/layers.hpp>
#include <det/protocol/json.hpp>
#include <det/yaml/parse.hpp>

#include <algorithm>
#include <fmt/format.h>

#include "integers.hpp"
#include "merge.hpp"
#include "schema/tables.hpp"

namespace det::config {
namespace {

using yaml::Node;

/// Replaces the value at the path and creates missing maps. A null removes the key.
Node with_value(Node const& base, std::span<Node::Entry const> steps, Diagnostics& problems) {
    auto const& step = steps.front();
    if (!base.is_map() && !base.is_null()) {
        problems.report(Error{
            codes::merge_conflict,
            fmt::format("there is no key '{}' in {} at {}", step.key, describe(base), base.location().text()),
            "override the whole value instead", step.key_location.span()});
        return base;
    }
    auto const* present = base.find(step.key);
    auto value = steps.size() == 1
                     ? step.value
                     : with_value(present != nullptr ? *present : Node(), steps.subspan(1), problems);
    std::vector<Node::Entry> entries;
    bool is_done = value.is_null();
    for (auto const& entry : base.entries()) {
        if (entry.key != step.key) {
            entries.push_back(entry);
        } else if (!is_done) {
            entries.push_back({step.key, step.key_location, value});
            is_done = true;
        }
    }
    if (!is_done) entries.push_back({step.key, step.key_location, value});
    return Node(std::move(entries), base.is_map() ? base.location() : step.value.location());
}

/// \return The entries from the top to the replacing value. They are entries of the normalised document,
/// whose keys may have other names.
std::vector<Node::Entry> steps_of(Node const& document, std::vector<std::string> const& path) {
    std::vector<Node::Entry> steps;
    auto rest = document;
    while (steps.size() < path.size() && rest.entries().size() == 1) {
        steps.push_back(rest.entries()[0]);
        rest = steps.back().value;
    }
    // An override that removes a value has a null, and normalise() drops nulls. The rest of the path comes
    // from `path`.
    bool const is_taken_away = steps.size() < path.size() && rest.is_map();
    for (auto i = steps.size(); is_taken_away && i < path.size(); ++i)
        steps.push_back({path[i], document.location(), {}});
    return steps;
}

Node put(Layer const& layer, Node const& below, Diagnostics& problems) {
    auto const document = normalise(layer.document, schema::experiment);
    if (layer.replaces.empty()) return merge(document, below, &schema::experiment, "", problems);
    return with_value(below, steps_of(document, layer.replaces), problems);
}

}  // namespace

Result<Node, Diagnostics> parse_layer(std::string_view text, std::string origin) {
    auto document = yaml::parse_document(text, origin);
    if (!document) return mask_secrets_by_name(document.error());
    if (document->is_map()) return with_integers(*document, schema::experiment);
    if (document->is_null()) {
        auto const source = std::make_shared<yaml::Source const>(std::move(origin), std::string(text));
        return Node(std::vector<Node::Entry>{}, yaml::Location{source});
    }
    return Error{codes::wrong_type,
                 fmt::format("a configuration is a map of keys to values, found {}", describe(*document)),
                 "begin with 'name: ...'", document->location().span()};
}

Layer replace_value(std::vector<std::string> path, Node value, yaml::Location const& where) {
    for (auto key = path.rbegin(); key != path.rend(); ++key)
        value = Node(std::vector<Node::Entry>{{*key, where, std::move(value)}}, where);
    return {std::move(value), std::move(path)};
}

Result<Node, Diagnostics> apply_override(Node const& document, Layer const& override_layer) {
    Diagnostics problems;
    auto replaced =
        with_value(document, steps_of(override_layer.document, override_layer.replaces), problems);
    if (problems.has_errors()) return problems;
    return replaced;
}

Node const* find_value(std::vector<Layer> const& high_to_low, std::span<std::string const> path) {
    for (auto const& layer : high_to_low) {
        auto const* value = &layer.document;
        for (auto const& key : path) {
            if (value != nullptr) value = value->find(key);
        }
        if (value != nullptr && !value->is_null()) return value;
        auto const& replaced = layer.replaces;
        bool const replaces_value = !replaced.empty() && replaced.size() <= path.size() &&
                                    std::equal(replaced.begin(), replaced.end(), path.begin());
        if (replaces_value) return nullptr;
    }
    return nullptr;
}

void LayerMerge::add(std::vector<Layer> const& high_to_low) {
    for (auto layer = high_to_low.rbegin(); layer != high_to_low.rend(); ++layer)
        merged_ = put(*layer, merged_, problems_);
}

Result<Node, Diagnostics> LayerMerge::finish() && {
    if (problems_.has_errors()) return std::move(problems_);
    return std::move(merged_);
}

Result<Node, Diagnostics> merge_layers(std::vector<Layer> const& high_to_low) {
    LayerMerge merge;
    merge.add(high_to_low);
    return std::move(merge).finish();
}

}  // namespace det::config
