#include <det/config/key_reference.hpp>
#include <det/yaml/render.hpp>

#include <algorithm>
#include <fmt/format.h>

#include "schema/tables.hpp"

namespace det::config {
namespace {

using schema::Key;
using schema::Shape;
using schema::Type;

enum class Shown { as_is, as_comment };

bool has_keys(Type const& type) { return type.shape == Shape::object || type.shape == Shape::tagged_union; }

/// \return The object form of the type; nullptr if it has none.
Type const* object_of(Type const& type) {
    if (has_keys(type)) return &type;
    auto const* alternative = type.shape == Shape::either ? find_alternative(type, yaml::Kind::map) : nullptr;
    return alternative != nullptr && has_keys(*alternative) ? alternative : nullptr;
}

/// True for a key that is shown as a section: it has keys, and no default apart from theirs.
bool is_section(Key const& key) {
    bool const allows_other_keys = key.default_value.empty() && has_keys(key.type);
    return object_of(key.type) != nullptr && (key.default_value == "{}" || allows_other_keys);
}

bool has_default_inside(Type const& object) {
    return std::any_of(object.keys.begin(), object.keys.end(), [](Key const& key) {
        return !key.default_value.empty() && (!is_section(key) || has_default_inside(*object_of(key.type)));
    });
}

class DefaultsWriter {
public:
    std::string write() && {
        add_keys(schema::experiment.keys, 0, Shown::as_is);
        return yaml::add_comments(text_, comments_);
    }

private:
    void add(std::string const& text, int depth, Shown shown, std::string_view help) {
        std::string const indent(static_cast<std::size_t>(2 * depth), ' ');
        text_ += (shown == Shown::as_comment ? "# " : "") + indent + text;
        comments_.push_back({text_.size(), std::string(help)});
        text_ += '\n';
    }

    void add_keys(std::span<Key const> keys, int depth, Shown shown) {
        for (auto const& key : keys) {
            bool const is_obsolete = !key.ignored_reason().empty() ||
                                     (key.type.shape == Shape::either && key.type.alternatives.empty());
            if (!is_obsolete) add_key(key, depth, shown);
        }
    }

    void add_key(Key const& key, int depth, Shown shown_above) {
        auto const shown = key.default_value.empty() ? Shown::as_comment : shown_above;
        if (is_section(key)) return add_section(key, *object_of(key.type), depth, shown);
        add(fmt::format("{}:{}{}", key.name, key.default_value.empty() ? "" : " ", key.default_value), depth,
            shown, key.help);
        if (key.type.shape == Shape::list) {
            if (auto const* item = object_of(*key.type.item)) add_item(*item, depth + 1);
        }
    }

    void add_section(Key const& key, Type const& object, int depth, Shown shown) {
        // Without {} the empty section would be null.
        bool const is_empty = shown == Shown::as_is && !has_default_inside(object);
        add(fmt::format("{}:{}", key.name, is_empty ? " {}" : ""), depth, shown, key.help);
        auto const inside = is_empty ? Shown::as_comment : shown;
        add_keys(object.keys, depth + 1, inside);
        for (auto const& member : object.members) {
            if (!member.replacement.empty()) continue;
            add(fmt::format("{}: {}", object.tag, member.name), depth + 1, inside, "with these keys:");
            add_keys(member.keys, depth + 2, inside);
        }
    }

    /// Shows the keys of an item of a list.
    void add_item(Type const& item, int depth) {
        auto const start = text_.size();
        add_keys(item.keys, depth + 1, Shown::as_comment);
        if (start < text_.size()) text_[start + static_cast<std::size_t>(2 + 2 * depth)] = '-';
    }

    std::string text_;
    std::vector<yaml::Comment> comments_;
};

}  // namespace

std::string render_defaults() { return DefaultsWriter().write(); }

}  // namespace det::config
