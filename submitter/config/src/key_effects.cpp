#include <det/config/key_effects.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <set>

#include "schema/tables.hpp"

namespace det::config {
namespace {

using schema::Consumer;
using schema::Effect;
using schema::Key;
using schema::Shape;
using schema::Type;
using yaml::Node;

std::string child_key(std::string const& path, std::string_view name) {
    return path.empty() ? std::string(name) : fmt::format("{}.{}", path, name);
}

/// A row of the key tables with the key's full name.
struct NamedRow {
    std::string name;
    Key const& key;
    Effect effect;  // the key's, or that of the nearest key above that has one
    bool is_leaf;

    bool has_own_effect() const { return key.effect.is_set(); }
};

/// \return The form of the type that has keys; nullptr if it has none.
Type const* find_object(Type const& type) {
    auto const* form = type.shape == Shape::either ? find_alternative(type, yaml::Kind::map) : &type;
    bool const has_keys =
        form != nullptr && (form->shape == Shape::object || form->shape == Shape::tagged_union);
    return has_keys && form->merge != schema::Merge::atomic ? form : nullptr;
}

/// Collects the rows of all keys. Members of a union may have a key in common: it has a row of each of them.
class RowCollector {
public:
    std::vector<NamedRow> collect() && {
        add_keys(schema::experiment.keys, "", {});
        return std::move(rows_);
    }

private:
    void add_keys(std::span<Key const> keys, std::string const& path, Effect const& above) {
        for (auto const& key : keys)
            add(key, child_key(path, key.name), key.effect.is_set() ? key.effect : above);
    }

    void add(Key const& key, std::string const& name, Effect const& effect) {
        bool const is_list = key.type.shape == Shape::list;
        auto const* object =
            key.ignored_reason().empty() ? find_object(is_list ? *key.type.item : key.type) : nullptr;
        rows_.push_back({name, key, effect, object == nullptr});
        if (object == nullptr) return;
        auto const path = is_list ? name + "[]" : name;
        add_keys(object->keys, path, effect);
        for (auto const& member : object->members) {
            if (member.replacement.empty()) add_keys(member.keys, path, effect);
        }
    }

    std::vector<NamedRow> rows_;
};

enum class Extent { complete, part };

/// Walks over the values that were written, and reports those whose row has a reason.
class EffectWalk {
public:
    EffectWalk(Node const& config, std::span<yaml::Location const> non_user_sources, Extent extent)
        : config_(config), non_user_sources_(non_user_sources), extent_(extent) {}

    Diagnostics run() && {
        visit_entries(config_, "");
        return std::move(found_);
    }

private:
    void visit_entries(Node const& value, std::string const& path) {
        for (auto const& entry : value.entries()) {
            if (entry.value.is_null()) continue;
            auto const here = child_key(path, entry.key);
            auto const reason = reason_of(here);
            if (!reason.empty()) {
                report(here, entry, reason);
                continue;
            }
            visit(entry.value, here);
        }
    }

    void visit(Node const& value, std::string const& path) {
        visit_entries(value, path);
        for (auto const& item : value.items()) visit_entries(item, path + "[]");
    }

    /// \return Why exactly this key has no effect; "" if it has one, if its row does not say, or if it is
    /// ignored, of which the check of its layer warns.
    std::string_view reason_of(std::string_view name) const {
        auto const row = std::ranges::find_if(
            rows_, [&](auto const& each) { return each.has_own_effect() && each.name == name; });
        if (row == rows_.end()) return {};
        if (row->effect.consumer == Consumer::nothing) return row->effect.text;
        bool const is_asked = extent_ == Extent::complete && row->effect.why_none != nullptr;
        return is_asked ? row->effect.why_none(config_) : std::string_view();
    }

    void report(std::string const& key, Node::Entry const& entry, std::string_view reason) {
        auto const* written = find_written(entry.value);
        if (written == nullptr) return;
        found_.warn(Error{codes::not_supported, fmt::format("'{}' has no effect: {}", key, reason), "",
                          written->location().span()});
    }

    /// \return The first value in `value` that a user has written; nullptr if there is none.
    Node const* find_written(Node const& value) const {
        if (!value.is_map() && is_users(value.location())) return &value;
        for (auto const& entry : value.entries()) {
            if (auto const* found = find_written(entry.value)) return found;
        }
        return nullptr;
    }

    bool is_users(yaml::Location const& location) const {
        return location.is_written() &&
               std::none_of(non_user_sources_.begin(), non_user_sources_.end(),
                            [&](auto const& document) { return document.source == location.source; });
    }

    Node const& config_;
    std::span<yaml::Location const> non_user_sources_;
    Extent extent_;
    std::vector<NamedRow> rows_ = RowCollector().collect();
    Diagnostics found_;
};

std::string_view consumer_name(Consumer consumer) {
    switch (consumer) {
        case Consumer::det_submit:
            return "det-submit";
        case Consumer::training_code:
            return "training code";
        case Consumer::launcher:
            return "launcher";
        case Consumer::nothing:
        case Consumer::ignored:
            return "nothing";
    }
    return "";
}

constexpr std::string_view key_page_begin = R"(# The keys of a configuration

Rendered from the key tables in `src/schema`; a test compares both, and checks that every key has an effect or a
warning, and a test (`tests/unit/config/key_tests.txt`). A key without an effect of its own has that of the key that
contains it. `det-submit config check` and `experiment create` warn of every key that a user has set and that has no
effect in the experiment, with the reason.

| key | value | default | meaning | read by | what it does; why it does nothing |
|---|---|---|---|---|---|
)";

std::string render_row(NamedRow const& row) {
    auto const& key = row.key;
    auto const default_value =
        key.default_value.empty() ? std::string() : fmt::format("`{}`", key.default_value);
    return fmt::format("| {} | {} | {} | {} | {} | {} |\n", row.name, expected(key.type), default_value,
                       key.help, row.has_own_effect() ? consumer_name(key.effect.consumer) : "",
                       key.effect.text);
}

/// A section without an effect of its own has only its keys to show.
bool is_plain_section(NamedRow const& row) {
    auto const shape = row.key.type.shape;
    bool const has_keys = shape == Shape::object || shape == Shape::tagged_union;
    return has_keys && !row.is_leaf && !row.has_own_effect();
}

}  // namespace

std::vector<ListedKey> list_keys() {
    std::vector<ListedKey> listed;
    for (auto const& row : RowCollector().collect())
        listed.push_back({row.name, row.is_leaf, row.has_own_effect() && row.key.ignored_reason().empty(),
                          row.effect.is_set()});
    return listed;
}

Diagnostics find_keys_without_effect(Node const& effective,
                                     std::span<yaml::Location const> non_user_sources) {
    return EffectWalk(effective, non_user_sources, Extent::complete).run();
}

Diagnostics find_keys_without_effect_in_part(Node const& document) {
    return EffectWalk(document, {}, Extent::part).run();
}

std::string render_key_page() {
    std::string page(key_page_begin);
    std::set<std::string> written;  // several members of a union may have the same row
    for (auto const& row : RowCollector().collect()) {
        auto line = render_row(row);
        if (!is_plain_section(row) && written.insert(line).second) page += line;
    }
    return page;
}

}  // namespace det::config
