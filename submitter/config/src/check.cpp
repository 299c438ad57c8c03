#include "check.hpp"

#include <det/config/layers.hpp>
#include <det/foundation/text.hpp>
#include <det/yaml/parse.hpp>

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "check_messages.hpp"
#include "schema/tables.hpp"

namespace det::config {
namespace {

using schema::Key;
using schema::Required;
using schema::Shape;
using schema::Type;
using yaml::Kind;
using yaml::Node;

/// A hint how to write the value so that it has the right type.
std::string hint_for_kind(Node const& value, Type const& type) {
    if (!type.hint.empty()) return std::string(type.hint);
    if (!value.is_text()) {
        bool const could_be_text = value.is_scalar() && !value.is_null() && accepts(type, Kind::text);
        return could_be_text ? "write it in quotes" : "";
    }
    auto const& text = *value.text();
    auto const plain = yaml::resolve_plain(text);
    if (plain && accepts(type, Node(*plain, {}).kind()) && !accepts(type, Kind::text)) {
        return fmt::format("write it without quotes: {}", text);
    }
    if (type.shape == Shape::boolean) return "write true or false";
    if (accepts(type, Kind::list)) return "write each item on a line of its own after '- '";
    return "";
}

std::string subject(Path const& path) {
    auto text = path.text();
    return text.empty() ? "the configuration" : text;
}

}  // namespace

std::string Path::text() const {
    if (parent == nullptr) return "";
    if (index) return fmt::format("{}[{}]", parent->text(), *index);
    auto const before = parent->text();
    return before.empty() ? std::string(key) : fmt::format("{}.{}", before, key);
}

void Checker::refuse_at(Path const& path, Error error, std::string_view determined) {
    if (is_full()) return;
    ++refused_;
    if (records_violations()) {
        violations_->push_back({path.text(), without_path(error.message, path.text())});
        if (!determined.empty()) violations_->push_back({path.text(), std::string(determined)});
    }
    found_.report(std::move(error));
}

void Checker::refuse(ErrorCode code, std::string message, std::string hint, yaml::Location const& location,
                     std::string_view determined) {
    refuse_at(*rule_path_, Error{code, std::move(message), std::move(hint), location.span()}, determined);
}

Diagnostics Checker::finish() && {
    if (is_full()) {
        found_.report(
            Error{codes::bad_value, fmt::format("only the first {} errors are shown", refused_max)});
    }
    return std::move(found_);
}

void Checker::check(Node const& value, Type const& type, Path const& path,
                    yaml::Location const& key_location) {
    if (is_full()) return;
    if (type.shape == Shape::hyperparameter) return check_hyperparameter(value, path, key_location);
    if (value.is_null()) return;
    auto const* alternative = find_alternative(type, value.kind());
    if (alternative == nullptr || !accepts(*alternative, value.kind())) return refuse_kind(value, type, path);
    check_contents(value, *alternative, path, key_location);
    run_rule(value, *alternative, path);
    if (alternative != &type) run_rule(value, type, path);
}

void Checker::run_rule(Node const& value, Type const& type, Path const& path) {
    rule_path_ = &path;
    if (type.rule != nullptr) type.rule(value, path, *this);
}

void Checker::refuse_kind(Node const& value, Type const& type, Path const& path) {
    refuse_at(path,
              Error{codes::wrong_type,
                    fmt::format("{} must be {}, found {}", subject(path), expected(type), describe(value)),
                    hint_for_kind(value, type), value.location().span()},
              records_violations() ? wrong_type_message(value, type) : "");
}

void Checker::check_contents(Node const& value, Type const& type, Path const& path,
                             yaml::Location const& key_location) {
    switch (type.shape) {
        case Shape::anything:
            return check_finite(value, path);
        case Shape::integer:
        case Shape::number:
            return check_number(value, type, path);
        case Shape::choice:
            return check_choice(value, type, path);
        case Shape::list:
        case Shape::map:
            return check_items(value, type, path);
        case Shape::tagged_union:
            return check_union(value, type, path, key_location);
        case Shape::object:
            check_present(value, type.keys, path, key_location);
            return check_keys(value, type, path);
        case Shape::boolean:
        case Shape::text:
        case Shape::either:
        case Shape::hyperparameter:
            return;
    }
}

void Checker::check_number(Node const& value, Type const& type, Path const& path) {
    check_finite(value, path);
    bool const is_too_small = *value.number() <= type.exclusive_minimum;
    auto const* whole = value.integer();
    bool const is_outside = whole != nullptr && (*whole < type.minimum || *whole > type.maximum);
    if (!is_too_small && !is_outside) return;
    refuse_at(path,
              Error{codes::bad_value,
                    fmt::format("{} must be {}, found {}", subject(path), expected(type), *value.number()),
                    "", value.location().span()},
              records_violations() ? out_of_range_message(value, type) : "");
}

void Checker::check_finite(Node const& value, Path const& path) {
    if (value.kind() == Kind::real && !std::isfinite(*value.number())) {
        refuse_at(path, Error{codes::bad_value,
                              fmt::format("{} must be a finite number: JSON has no other", subject(path)),
                              "write it as a string, in quotes", value.location().span()});
    }
    for (auto const& entry : value.entries()) check_finite(entry.value, path / entry.key);
    for (std::size_t i = 0; i < value.items().size(); ++i) check_finite(value.items()[i], path[i]);
}

void Checker::check_choice(Node const& value, Type const& type, Path const& path) {
    auto const& word = *value.text();
    if (std::find(type.choices.begin(), type.choices.end(), word) != type.choices.end()) return;
    auto const near = nearest_word(word, type.choices);
    refuse_at(
        path,
        Error{codes::bad_value, fmt::format("{} must be {}, found '{}'", subject(path), expected(type), word),
              near ? fmt::format("use '{}'", *near) : "", value.location().span()},
        records_violations() ? unknown_choice_message(type) : "");
}

void Checker::check_items(Node const& value, Type const& type, Path const& path) {
    for (std::size_t i = 0; i < value.items().size(); ++i) {
        auto const& item = value.items()[i];
        bool const may_be_null = type.item->shape == Shape::anything;
        if (item.is_null() && !may_be_null) refuse_kind(item, *type.item, path[i]);
        check(item, *type.item, path[i], item.location());
    }
    for (auto const& entry : value.entries())
        check(entry.value, *type.item, path / entry.key, entry.key_location);
}

void Checker::check_keys(Node const& value, Type const& type, Path const& path) {
    for (auto const& entry : value.entries()) {
        if (is_full()) return;
        auto const* key = find_key(type, value, entry.key);
        if (key != nullptr) {
            check(entry.value, key->type, path / entry.key, entry.key_location);
            if (!key->ignored_reason().empty() && !entry.value.is_null() && !is_merged()) {
                found_.warn(Error{codes::not_supported,
                                  fmt::format("'{}' is ignored: {}", entry.key, key->ignored_reason()), "",
                                  entry.key_location.span()});
            }
        } else if (!allows_other_keys(type, value)) {
            refuse_at(path, unknown_key(entry, value, type, path, whole_),
                      records_violations() ? unknown_key_message(entry.key) : "");
        } else {
            if (!is_merged()) warn_of_similar_key(entry, value, type);
            check_finite(entry.value, path / entry.key);
        }
    }
}

/// A key of the user's own whose name is nearly that of a known key is probably a mistake.
void Checker::warn_of_similar_key(yaml::Node::Entry const& entry, Node const& owner, Type const& type) {
    auto const near = nearest_known_key(entry.key, owner, type);
    if (near.empty()) return;
    found_.warn(
        Error{codes::unknown_key,
              fmt::format("'{}' is no known key: it is passed on, and has no other effect", entry.key),
              fmt::format("use '{}'", near), entry.key_location.span()});
}

void Checker::check_present(Node const& value, std::span<Key const> keys, Path const& path,
                            yaml::Location const& key_location) {
    for (auto const& key : keys) {
        auto const* found = value.find(key.name);
        bool const may_be_null = key.type.shape == Shape::anything;
        if (!is_required(key.required) || (found != nullptr && (may_be_null || !found->is_null()))) continue;
        auto const where = path.text();
        refuse_at(path,
                  Error{codes::missing_key,
                        fmt::format("'{}' is missing{}{}", key.name, where.empty() ? "" : " in ", where),
                        fmt::format("add '{}: ...': {}", key.name, key.help), key_location.span()},
                  records_violations() ? missing_key_message(key.name) : "");
    }
}

bool Checker::is_required(Required required) const {
    switch (required) {
        case Required::no:
            return false;
        case Required::always:
            return true;
        case Required::when_merged:
            return is_merged();
        case Required::to_create:
            return is_for_creation();
    }
    return false;
}

void Checker::check_union(Node const& value, Type const& type, Path const& path,
                          yaml::Location const& key_location) {
    check_present(value, type.keys, path, key_location);
    auto const* tag = value.find(type.tag);
    auto const* member = find_member(type, value);
    if (tag != nullptr && tag->is_text() && member == nullptr) return refuse_tag(*tag, type, path);
    if (member != nullptr) {
        check_present(value, member->keys, path, key_location);
        if (!member->replacement.empty() && is_for_creation()) {
            refuse_at(path, Error{codes::not_supported,
                                  fmt::format("{} '{}' is no longer supported", path.text(), member->name),
                                  std::string(member->replacement), tag->location().span()});
        }
    }
    check_keys(value, type, path);
}

void Checker::refuse_tag(Node const& tag, Type const& type, Path const& path) {
    std::vector<std::string_view> names;
    for (auto const& member : type.members) {
        if (member.replacement.empty()) names.push_back(member.name);
    }
    auto const near = nearest_word(*tag.text(), names);
    refuse_at(path,
              Error{codes::bad_value,
                    fmt::format("{}.{} must be one of {}, found '{}'", path.text(), type.tag,
                                fmt::join(names, ", "), *tag.text()),
                    near ? fmt::format("use '{}'", *near) : std::string(type.hint), tag.location().span()},
              type.determined_message);
}

void Checker::check_hyperparameter(Node const& value, Path const& path, yaml::Location const& key_location) {
    switch (schema::hyperparameter_form(value)) {
        case schema::HyperparameterForm::constant:
            return check_finite(value, path);
        case schema::HyperparameterForm::searched:
            return check(value, schema::searched_hyperparameter, path, key_location);
        case schema::HyperparameterForm::nested:
            for (auto const& entry : value.entries()) {
                check_hyperparameter(entry.value, path / entry.key, entry.key_location);
            }
    }
}

Diagnostics check_sanity(Node const& written) {
    Checker checker(Checker::Phase::sanity);
    checker.check(written, schema::experiment, Path{}, written.location());
    return std::move(checker).finish();
}

Diagnostics check_for_creation(Node const& merged) {
    Checker checker(Checker::Phase::creation);
    checker.check(merged, schema::experiment, Path{}, merged.location());
    return std::move(checker).finish();
}

}  // namespace det::config
