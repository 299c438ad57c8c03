#pragma once
#include <det/yaml/node.hpp>

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>

// The language in which the key tables are written. A table says everything there is to know of a key: its
// name, type, default, meaning, rules and where its value goes. Checking, the spelling hints, merging,
// defaults, masking and reading are each one walk over these tables.
namespace det::config {

class Checker;
struct Path;

namespace schema {

enum class Shape {
    anything,
    boolean,
    integer,
    number,
    text,
    choice,          // one of `words`
    list,            // of `item`
    map,             // free names to `item`
    object,          // `keys`
    tagged_union,    // `keys`, and those of the member that the value of `tag` names
    either,          // the one of `ways` that fits the kind of what was written
    hyperparameter,  // constant, searched for, or a map of hyperparameters
};

/// What becomes of a value that two layers have. Scalars always replace, maps always merge.
enum class Merge {
    natural,      // lists follow each other, the lower layer's first
    atomic,       // the higher value, whatever it is
    as_set,       // a list without repetitions
    by_item_key,  // the higher list, then the lower one's items that it does not have, by their `item_key`
};

enum class Required {
    no,
    always,       // wherever the object is written
    when_merged,  // once all layers are merged
    to_create,    // of what is created; what Determined has stored may lack it
};

/// From when on a secret is hidden.
enum class Secrecy { shown, hidden };

struct Type;
/// Writes a checked value into a field of the struct that `object` points to.
using AssignField = void (*)(void* object, yaml::Node const& value, Type const& type);

struct Key {
    std::string_view name;
    Type const& type;
    std::string_view default_value;  // the default as YAML; empty: absent
    std::string_view help;
    AssignField assign = nullptr;
    Required required = Required::no;
    Secrecy secrecy = Secrecy::shown;
    std::string_view ignored_reason = {};
};

/// One of the shapes of a union: of the searchers, of the storages.
struct Member {
    std::string_view name;
    std::span<Key const> keys;
    void (*assign)(void* object, yaml::Node const& value, std::span<Key const> keys) = nullptr;
    std::string_view replacement = {};  // of one that Determined has given up
    bool allows_other_keys = false;     // other keys are the user's own
};

struct Type {
    Shape shape = Shape::anything;
    std::string_view expected = {};  // in messages, where the shape alone says too little
    std::string_view hint = {};      // how to write it, where it was written as something else
    std::string_view determined_message =
        {};  // what Determined says of a value that is none; for conformance cases
    std::int64_t minimum = std::numeric_limits<std::int64_t>::min();
    std::int64_t maximum = std::numeric_limits<std::int64_t>::max();
    double exclusive_minimum = -std::numeric_limits<double>::infinity();
    std::span<std::string_view const> choices = {};
    std::span<Key const> keys = {};
    std::span<Member const> members = {};
    std::string_view tag = {};       // the key that names the member
    bool allows_other_keys = false;  // other keys are the user's own
    Type const* item = nullptr;
    std::span<Type const* const> alternatives = {};
    Merge merge = Merge::natural;
    std::string_view item_key = {};
    /// As YAML: a layer beneath all others, which a value takes its default items from.
    std::string_view default_items = {};
    /// A rule of its own, once the shape is right.
    void (*rule)(yaml::Node const& value, Path const& path, Checker& checker) = nullptr;
    /// The one form that the rest of the program knows, of a value that may be written in several.
    yaml::Node (*normalise)(yaml::Node const& value) = nullptr;
    /// What is left to inherit of the lower value, where the higher one forbids parts of it.
    yaml::Node (*inheritable)(yaml::Node const& high, yaml::Node const& low) = nullptr;
};

// The types that need no table.
extern Type const anything, boolean, text, integer, count_from_zero, count_from_one, number, text_list,
    integer_list, free_map;

constexpr Type integer_between(std::int64_t minimum, std::int64_t maximum) {
    return {.shape = Shape::integer, .minimum = minimum, .maximum = maximum};
}
constexpr Type choice_of(std::span<std::string_view const> choices) {
    return {.shape = Shape::choice, .choices = choices};
}
constexpr Type list_of(Type const& item) { return {.shape = Shape::list, .item = &item}; }
constexpr Type object_of(std::span<Key const> keys) { return {.shape = Shape::object, .keys = keys}; }

// Marks on a row of a table.
constexpr Key required(Key key) {
    key.required = Required::always;
    return key;
}
constexpr Key required_when_merged(Key key) {
    key.required = Required::when_merged;
    return key;
}
constexpr Key required_to_create(Key key) {
    key.required = Required::to_create;
    return key;
}
constexpr Key secret(Key key) {
    key.secrecy = Secrecy::hidden;
    return key;
}
constexpr Key ignored(std::string_view because, Key key) {
    key.ignored_reason = because;
    return key;
}

Key const* find_key(std::span<Key const> keys, std::string_view name);
/// The member that a union's value names; nullptr where it names none, or an unknown one.
Member const* find_member(Type const& type, yaml::Node const& value);
/// Whether the user may add keys to the value.
bool allows_other_keys(Type const& type, yaml::Node const& value);
/// The key in an object, or in a union as far as its member is known; nullptr where there is none such.
Key const* find_key(Type const& type, yaml::Node const& value, std::string_view name);
bool accepts(Type const& type, yaml::Kind kind);
/// Of `either`, the way that takes a value of this kind; every other type is its own only way.
Type const* find_alternative(Type const& type, yaml::Kind kind);
/// "an integer of at least 1": what a message says it expected.
std::string expected(Type const& type);

}  // namespace schema
}  // namespace det::config
