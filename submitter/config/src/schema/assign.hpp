#pragma once
#include <det/config/experiment_config.hpp>

#include <concepts>
#include <type_traits>

#include "type.hpp"

// Assigns a checked value to a struct's field, depending on the field's C++ type. A table row names the field
// with into<&Resources::max_slots>.
namespace det::config::schema {

/// Copies each key of the YAML map `value` that is present and not null into the field of the struct `object`
/// that the key's entry in `keys` names.
void assign_keys(void* object, yaml::Node const& value, std::span<Key const> keys);
/// Assigns the keys of an object; for a union its common keys, then those of the member that `value` names.
void assign_object(void* object, yaml::Node const& value, Type const& type);

void assign(bool& field, yaml::Node const& value, Type const& type);
void assign(std::int64_t& field, yaml::Node const& value, Type const& type);
void assign(std::uint32_t& field, yaml::Node const& value, Type const& type);
void assign(int& field, yaml::Node const& value, Type const& type);
void assign(double& field, yaml::Node const& value, Type const& type);
void assign(std::string& field, yaml::Node const& value, Type const& type);
void assign(yaml::Node& field, yaml::Node const& value, Type const& type);
void assign(Entrypoint& field, yaml::Node const& value, Type const& type);
void assign(Length& field, yaml::Node const& value, Type const& type);
void assign(EnvironmentVariable& field, yaml::Node const& value, Type const& type);
void assign(SbatchArgs& field, yaml::Node const& value, Type const& type);
void assign(Hyperparameters& field, yaml::Node const& value, Type const& type);

/// Assigns a choice. The enumerators must be in the order of `type.choices`.
template <class Enum>
requires std::is_enum_v<Enum>
void assign(Enum& field, yaml::Node const& value, Type const& type) {
    for (std::size_t i = 0; i < type.choices.size(); ++i) {
        if (type.choices[i] == *value.text()) field = static_cast<Enum>(i);
    }
}

/// Assigns the keys of an object to the fields of a struct.
template <class Struct>
requires std::is_class_v<Struct>
void assign(Struct& field, yaml::Node const& value, Type const& type) { assign_object(&field, value, type); }

template <class T>
void assign(std::optional<T>& field, yaml::Node const& value, Type const& type) {
    assign(field.emplace(), value, type);
}

/// Assigns a value that a Checker has accepted. If `type` is `either`, uses the alternative that accepts the
/// kind of the value, and skips a value that no alternative accepts.
template <class T>
void assign_value(T& field, yaml::Node const& value, Type const& type) {
    if (auto const* alternative = find_alternative(type, value.kind())) assign(field, value, *alternative);
}

template <class T>
void assign(std::vector<T>& field, yaml::Node const& value, Type const& type) {
    field.clear();
    for (auto const& item : value.items()) assign_value(field.emplace_back(), item, *type.item);
}

template <class T>
void assign(std::map<std::string, T>& field, yaml::Node const& value, Type const& type) {
    for (auto const& entry : value.entries()) assign_value(field[entry.key], entry.value, *type.item);
}

template <class T>
struct FieldOwner;
template <class Struct, class Field>
struct FieldOwner<Field Struct::*> {
    using type = Struct;
};

template <auto Field>
void into(void* object, yaml::Node const& value, Type const& type) {
    auto& owner = *static_cast<typename FieldOwner<decltype(Field)>::type*>(object);
    assign_value(owner.*Field, value, type);
}

/// The same for a field that `Struct` has from a base class.
template <class Struct, auto Field>
void into_inherited(void* object, yaml::Node const& value, Type const& type) {
    assign_value(static_cast<Struct*>(object)->*Field, value, type);
}

/// Assigns the keys of a union's member: emplaces `Alternative` in the variant `Field` and assigns to it.
template <auto Field, class Alternative>
void into_variant(void* object, yaml::Node const& value, std::span<Key const> keys) {
    auto& owner = *static_cast<typename FieldOwner<decltype(Field)>::type*>(object);
    assign_keys(&(owner.*Field).template emplace<Alternative>(), value, keys);
}

}  // namespace det::config::schema
