#include <det/config/key_effects.hpp>

#include <algorithm>
#include <fmt/format.h>

#include "effect_table.hpp"
#include "schema/tables.hpp"

namespace det::config {
namespace {

using schema::Key;
using schema::Shape;
using schema::Type;
using yaml::Node;

/// The row about exactly this key; nullptr if there is none.
KeyEffect const* row_of(std::string_view key) {
    auto const rows = schema::effect_table();
    auto const found =
        std::find_if(rows.begin(), rows.end(), [&](auto const& row) { return row.key == key; });
    return found != rows.end() ? &*found : nullptr;
}

/// "a.b[].c" without its last part; empty for "a".
std::string_view parent_key(std::string_view key) {
    if (key.ends_with("[]")) return key.substr(0, key.size() - 2);
    auto const dot = key.rfind('.');
    return dot == std::string_view::npos ? std::string_view() : key.substr(0, dot);
}

std::string child_key(std::string const& path, std::string_view name) {
    return path.empty() ? std::string(name) : fmt::format("{}.{}", path, name);
}

/// Collects the keys that have no keys below them.
class LeafCollector {
public:
    std::vector<LeafKey> collect() && {
        add_keys(schema::experiment.keys, "", "");
        return std::move(leaves_);
    }

private:
    void add_keys(std::span<Key const> keys, std::string const& path, std::string_view ignored_above) {
        for (auto const& key : keys)
            add(key.type, child_key(path, key.name),
                ignored_above.empty() ? key.ignored_reason : ignored_above);
    }

    void add(Type const& type, std::string const& path, std::string_view ignored) {
        auto const* object = find_object(type);
        if (object != nullptr) {
            add_keys(object->keys, path, ignored);
            for (auto const& member : object->members) {
                if (member.replacement.empty()) add_keys(member.keys, path, ignored);
            }
            return;
        }
        if (type.shape == Shape::list && find_object(*type.item) != nullptr)
            return add(*type.item, path + "[]", ignored);
        bool const is_known =
            std::any_of(leaves_.begin(), leaves_.end(), [&](auto const& leaf) { return leaf.name == path; });
        if (!is_known) leaves_.push_back({path, ignored});
    }

    /// \return The form of the type that has keys; nullptr if it has none.
    static Type const* find_object(Type const& type) {
        auto const* form = type.shape == Shape::either ? find_alternative(type, yaml::Kind::map) : &type;
        bool const has_keys =
            form != nullptr && (form->shape == Shape::object || form->shape == Shape::tagged_union);
        return has_keys && form->merge != schema::Merge::atomic ? form : nullptr;
    }

    std::vector<LeafKey> leaves_;
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
            if (auto const* effect = row_of(here)) {
                auto const reason = reason_of(*effect);
                if (!reason.empty()) {
                    report(here, entry, reason);
                    continue;
                }
            }
            visit(entry.value, here);
        }
    }

    void visit(Node const& value, std::string const& path) {
        visit_entries(value, path);
        for (auto const& item : value.items()) visit_entries(item, path + "[]");
    }

    std::string_view reason_of(KeyEffect const& effect) const {
        if (effect.consumer == Consumer::nothing) return effect.effect;
        bool const is_asked = extent_ == Extent::complete && effect.why_no_effect != nullptr;
        return is_asked ? effect.why_no_effect(config_) : std::string_view();
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
            return "nothing";
    }
    return "";
}

constexpr std::string_view key_page_begin = R"(# What acts on the keys of a configuration

The table is rendered from `src/effect_table.cpp`; a test compares both, and checks that every key has a row and
a test (`tests/unit/config/key_tests.txt`). `det-submit config check` and `experiment create` warn of every key that a user has set and that has no effect in
the experiment, with the reason.

| key | consumed by | what it does; why it does nothing |
|---|---|---|
)";

}  // namespace

std::span<KeyEffect const> key_effects() { return schema::effect_table(); }

KeyEffect const* find_effect(std::string_view key) {
    for (; !key.empty(); key = parent_key(key)) {
        if (auto const* row = row_of(key)) return row;
    }
    return nullptr;
}

std::vector<LeafKey> leaf_keys() { return LeafCollector().collect(); }

Diagnostics find_keys_without_effect(Node const& effective,
                                     std::span<yaml::Location const> non_user_sources) {
    return EffectWalk(effective, non_user_sources, Extent::complete).run();
}

Diagnostics find_keys_without_effect_in_part(Node const& document) {
    return EffectWalk(document, {}, Extent::part).run();
}

std::string render_key_effects() {
    std::string page(key_page_begin);
    for (auto const& row : key_effects())
        page += fmt::format("| {} | {} | {} |\n", row.key, consumer_name(row.consumer), row.effect);
    for (auto const& leaf : leaf_keys()) {
        if (!leaf.ignored_reason.empty() && find_effect(leaf.name) == nullptr)
            page += fmt::format("| {} | nothing | {} |\n", leaf.name, leaf.ignored_reason);
    }
    return page;
}

}  // namespace det::config
