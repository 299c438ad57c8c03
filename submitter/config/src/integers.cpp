#include "integers.hpp"

#include <det/foundation/text.hpp>

#include <algorithm>
#include <cmath>

#include "schema/tables.hpp"

namespace det::config {
namespace {

using schema::Shape;
using schema::Type;
using yaml::Kind;
using yaml::Node;

/// Whether the text was written without quotes.
bool is_plain(yaml::Location const& location) {
    if (!location.is_written()) return false;
    auto const& text = location.source->text();
    auto const at = location.source->offset(location.line, location.column);
    return at < text.size() && text[at] != '"' && text[at] != '\'';
}

/// Parses digits with underscores between them: 50_000.
std::optional<std::int64_t> parse_grouped(std::string_view text) {
    bool const has_groups = text.find('_') != std::string_view::npos && !text.ends_with('_');
    if (!has_groups || text.find("__") != std::string_view::npos) return std::nullopt;
    std::string digits(text.starts_with('+') ? text.substr(1) : text);
    if (digits.starts_with('_') || digits.starts_with("-_")) return std::nullopt;
    std::erase(digits, '_');
    return parse_integer<std::int64_t>(digits);
}

/// Returns the integer that equals the number; nothing if there is none, or if it is beyond 2^53.
std::optional<std::int64_t> whole_number(double value) {
    constexpr double exact_max = 9007199254740992.0;  // 2^53
    if (!(std::fabs(value) <= exact_max) || std::trunc(value) != value) return std::nullopt;
    return static_cast<std::int64_t>(value);
}

Node read_integer(Node const& value) {
    std::optional<std::int64_t> number;
    if (value.kind() == Kind::real) number = whole_number(*value.number());
    if (value.is_text() && is_plain(value.location())) number = parse_grouped(*value.text());
    return number ? Node(Node::Scalar(*number), value.location()) : value;
}

bool has_integer(Type const& type) {
    return type.shape == Shape::integer || (type.shape == Shape::either && accepts(type, Kind::integer));
}

Type const* type_of(Type const& owner, Node const& value, std::string_view key) {
    if (owner.shape == Shape::map) return owner.item;
    auto const* found = find_key(owner, value, key);
    return found != nullptr ? &found->type : nullptr;
}

}  // namespace

Node with_integers(Node const& value, Type const& declared) {
    if (value.is_scalar())
        return has_integer(declared) && !accepts(declared, value.kind()) ? read_integer(value) : value;
    auto const* type = find_alternative(declared, value.kind());
    if (type == nullptr) return value;
    if (type->shape == Shape::hyperparameter) {
        using Form = schema::HyperparameterForm;
        auto const form = schema::hyperparameter_form(value);
        if (form == Form::constant) return value;
        type = form == Form::searched ? &schema::searched_hyperparameter : &schema::hyperparameters;
    }
    if (value.is_list()) {
        if (type->shape != Shape::list || type->item == nullptr) return value;
        Node::List items;
        for (auto const& item : value.items()) items.push_back(with_integers(item, *type->item));
        return {std::move(items), value.location()};
    }
    std::vector<Node::Entry> entries;
    for (auto const& entry : value.entries()) {
        auto const* below = type_of(*type, value, entry.key);
        entries.push_back({entry.key, entry.key_location,
                           below != nullptr ? with_integers(entry.value, *below) : entry.value});
    }
    return {std::move(entries), value.location()};
}

}  // namespace det::config
