#pragma once
#include <det/yaml/node.hpp>

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>

// The types of the key tables. A table row defines everything about a key: name, type, default, help, rules,
// the field that receives the value, and what acts on it. Checks, spelling hints, merging, defaults, masking,
// reading, the warnings of keys without effect and the page KEYS.md are each one walk over these tables.
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
    choice,          // one of `choices`
    list,            // of `item`
    map,             // any keys; each value is an `item`
    object,          // `keys`
    tagged_union,    // `keys`, and those of the member that the value of `tag` names
    either,          // the one of `alternatives` that accepts the kind of the value
    hyperparameter,  // constant, searched, or a map of hyperparameters
};

/// How the values of two layers merge. A scalar of the higher layer replaces the lower one. Maps merge key by
/// key, unless their type is `atomic`; hyperparameters have a rule of their own (merge.cpp).
enum class Merge {
    natural,      // lists are concatenated, the lower layer's first
    atomic,       // the higher value replaces the lower one
    as_set,       // a list without repetitions
    by_item_key,  // the higher list, then the lower list's items whose `item_key` it does not have
};

enum class Required {
    no,
    always,       // wherever the object is present
    when_merged,  // after the merge of all layers
    to_create,    // for creation; experiments stored by Determined may lack it
};

/// Whether the value is masked in output.
enum class Secrecy { shown, hidden };

enum class Consumer {
    det_submit,     // det-submit and the programs that it starts in a job
    training_code,  // the user's program, which reads the value through an API that the row names
    launcher,       // a launcher of another project that det-launch starts
    nothing,        // a value that a user has set is a warning
    ignored,        // the same, and the key is only accepted for old files
};

/// \param config a complete configuration
/// \return why a key has no effect in this experiment; "" if it has one
using WhyNone = std::string_view (*)(yaml::Node const& config);

/// What acts on a key and on all keys below it whose rows have no effect of their own.
struct Effect {
    Consumer consumer = Consumer::det_submit;
    std::string_view text = {};  // what it does, or why it does nothing; empty: as the key that contains it
    WhyNone why_none = nullptr;  // nullptr: the same in all experiments

    constexpr bool is_set() const { return !text.empty(); }
};

struct Type;
/// Writes a checked value into a field of the struct that `object` points to.
using AssignField = void (*)(void* object, yaml::Node const& value, Type const& type);

struct Key {
    std::string_view name;
    Type const& type;
    std::string_view default_value;  // as YAML; empty: no default
    std::string_view help;
    AssignField assign = nullptr;
    Effect effect = {};
    Required required = Required::no;
    Secrecy secrecy = Secrecy::shown;

    /// Empty: it is not ignored.
    constexpr std::string_view ignored_reason() const {
        return effect.consumer == Consumer::ignored ? effect.text : std::string_view();
    }
};
/// For a key whose value only stays in the configuration as written; jobs may read it there.
inline constexpr AssignField no_field = nullptr;

/// A member of a tagged union: a searcher, a storage.
struct Member {
    std::string_view name;
    std::span<Key const> keys;
    void (*assign)(void* object, yaml::Node const& value, std::span<Key const> keys) = nullptr;
    std::string_view replacement = {};  // the hint for a member that Determined no longer supports
    bool allows_other_keys = false;     // unknown keys are the user's own
};

struct Type {
    Shape shape = Shape::anything;
    std::string_view expected = {};  // for messages; empty: follows from the shape
    std::string_view hint = {};      // for a value of a wrong type: how to write it
    std::string_view determined_message =
        {};  // Determined's message for a wrong value; for conformance cases
    std::int64_t minimum = std::numeric_limits<std::int64_t>::min();
    std::int64_t maximum = std::numeric_limits<std::int64_t>::max();
    double exclusive_minimum = -std::numeric_limits<double>::infinity();
    std::span<std::string_view const> choices = {};
    std::span<Key const> keys = {};
    std::span<Member const> members = {};
    std::string_view tag = {};       // the key that names the member
    bool allows_other_keys = false;  // unknown keys are the user's own
    Type const* item = nullptr;
    std::span<Type const* const> alternatives = {};
    Merge merge = Merge::natural;
    std::string_view item_key = {};
    /// Default items of a list, as YAML. They form a layer below all others.
    std::string_view default_items = {};
    /// An additional check, called if the shape is right.
    void (*rule)(yaml::Node const& value, Path const& path, Checker& checker) = nullptr;
    /// Converts a value that has several forms to the normal form.
    yaml::Node (*normalise)(yaml::Node const& value) = nullptr;
    /// \return The part of the lower value that the higher one inherits.
    yaml::Node (*inheritable)(yaml::Node const& high, yaml::Node const& low) = nullptr;
};

// Types without a table.
extern Type const anything, boolean, text, integer, non_negative_integer, positive_integer, number, text_list,
    integer_list, free_map;

constexpr Type integer_between(std::int64_t minimum, std::int64_t maximum) {
    return {.shape = Shape::integer, .minimum = minimum, .maximum = maximum};
}
constexpr Type choice_of(std::span<std::string_view const> choices) {
    return {.shape = Shape::choice, .choices = choices};
}
constexpr Type list_of(Type const& item) { return {.shape = Shape::list, .item = &item}; }
constexpr Type object_of(std::span<Key const> keys) { return {.shape = Shape::object, .keys = keys}; }

constexpr Effect by_det_submit(std::string_view what, WhyNone why_none = nullptr) {
    return {Consumer::det_submit, what, why_none};
}
constexpr Effect by_training_code(std::string_view what, WhyNone why_none = nullptr) {
    return {Consumer::training_code, what, why_none};
}
constexpr Effect by_launcher(std::string_view what, WhyNone why_none = nullptr) {
    return {Consumer::launcher, what, why_none};
}
constexpr Effect no_effect(std::string_view because) { return {Consumer::nothing, because}; }
constexpr Effect ignored(std::string_view because) { return {Consumer::ignored, because}; }

// Each returns the table row with one property set.
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

Key const* find_key(std::span<Key const> keys, std::string_view name);
/// \return The member that a union's value names; nullptr if it names none or an unknown one.
Member const* find_member(Type const& type, yaml::Node const& value);
/// \return Whether the value may have unknown keys.
bool allows_other_keys(Type const& type, yaml::Node const& value);
/// Finds the key `name` of an object or of a union. If `value` names a member of the union, searches the keys
/// of that member, else the keys of all members.
/// \return nullptr if there is no such key
Key const* find_key(Type const& type, yaml::Node const& value, std::string_view name);
bool accepts(Type const& type, yaml::Kind kind);
/// \return The alternative of `either` that accepts this kind, nullptr if none does. Any other type itself,
/// even if it does not accept the kind.
Type const* find_alternative(Type const& type, yaml::Kind kind);
/// "an integer of at least 1": the expected value, for messages.
std::string expected(Type const& type);

}  // namespace schema
}  // namespace det::config
