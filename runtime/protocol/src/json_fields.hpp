#pragma once
#include <det/foundation/clock.hpp>
#include <det/foundation/text.hpp>
#include <det/protocol/ids.hpp>
#include <det/protocol/json.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

// Structures as JSON objects. A structure has one list of fields, which serves reading and writing:
//
//     template <>
//     inline constexpr JsonField json_fields<ContextSpec>[] = {
//         field<&ContextSpec::sha256>("sha256"),
//         optional_field<&ContextSpec::notes>("notes"),
//     };
//
//     Json const json = fields_to_json(context);
//     auto const read = fields_from_json<ContextSpec>("context", json);  // Result<ContextSpec>
//
// A field that old files lack is an optional_field or in absent_in_old(); the member then keeps its value.
// Of nlohmann's conversions only those of scalars are used: the others take long to compile.
namespace det {

// read_value() throws Json::exception if the value has another type. write_value() assigns to `json`.

template <class T>
requires std::is_arithmetic_v<T> || std::is_same_v<T, std::string>
void read_value(Json const& json, T& value) { json.get_to(value); }
template <class T>
requires std::is_arithmetic_v<T>
void write_value(Json& json, T value) { json = value; }
inline void write_value(Json& json, std::string_view value) { json = value; }

inline void read_value(Json const& json, std::map<std::string, std::int64_t>& value) { json.get_to(value); }
inline void write_value(Json& json, std::map<std::string, std::int64_t> const& value) { json = value; }
inline void read_value(Json const& json, JsonValue& value) { value = json; }
inline void write_value(Json& json, JsonValue const& value) { json = *value; }
inline void read_value(Json const& json, ExperimentId& value) { json.get_to(value.value); }
inline void write_value(Json& json, ExperimentId value) { json = value.value; }
inline void read_value(Json const& json, Rank& value) { json.get_to(value.value); }
inline void write_value(Json& json, Rank value) { json = value.value; }
void read_value(Json const& json, UtcTime& value);
void write_value(Json& json, UtcTime value);
/// A list of pairs: JSON has no keys that are numbers.
void read_value(Json const& json, std::map<std::uint32_t, std::uint32_t>& value);
void write_value(Json& json, std::map<std::uint32_t, std::uint32_t> const& value);

void require_array(Json const& json);  // throws Json::exception if it is none
/// Throws Json::exception with this message.
[[noreturn]] void refuse_json(std::string const& message);

struct JsonField {
    char const* key;
    /// Both get a pointer to the structure. `key` is for messages.
    void (*read)(void* object, Json const& value, char const* key);
    void (*write)(void const* object, Json& value);
    bool (*is_written)(void const* object) = nullptr;  // nullptr: always
    bool may_be_absent = false;                        // the member then keeps its value
};

/// The list of fields of a structure; specialised for each.
template <class Struct>
inline constexpr std::nullptr_t json_fields = nullptr;
template <class Struct>
concept HasJsonFields = !std::is_null_pointer_v<std::remove_cvref_t<decltype(json_fields<Struct>)>>;

void read_fields(Json const& json, std::span<JsonField const> fields, void* object);
/// Adds the fields to the object `json`.
void write_fields(Json& json, std::span<JsonField const> fields, void const* object);

template <HasJsonFields Struct>
void read_value(Json const& json, Struct& value) {
    read_fields(json, json_fields<Struct>, &value);
}
template <HasJsonFields Struct>
void write_value(Json& json, Struct const& value) {
    json = Json::object();
    write_fields(json, json_fields<Struct>, &value);
}

template <HasJsonFields Struct>
Json fields_to_json(Struct const& value) {
    Json json;
    write_value(json, value);
    return json;
}
/// \param what names the input in the message of codes::damaged
template <HasJsonFields Struct>
Result<Struct> fields_from_json(std::string_view what, Json const& json) {
    return decode_json(what, [&] {
        Struct value;
        read_value(json, value);
        return value;
    });
}

/// null if it is empty.
template <class T>
void read_value(Json const& json, std::optional<T>& value) {
    value.reset();
    if (!json.is_null()) read_value(json, value.emplace());
}
template <class T>
void write_value(Json& json, std::optional<T> const& value) {
    if (value) {
        write_value(json, *value);
    } else {
        json = nullptr;
    }
}

template <class T>
void read_value(Json const& json, std::vector<T>& value) {
    require_array(json);
    value.clear();
    value.reserve(json.size());
    for (auto const& item : json) read_value(item, value.emplace_back());
}
template <class T>
void write_value(Json& json, std::vector<T> const& value) {
    json = Json::array();
    for (auto const& item : value) write_value(json.emplace_back(), item);
}

template <class Pointer>
struct MemberOf;
template <class Struct, class Value>
struct MemberOf<Value Struct::*> {
    using Owner = Struct;
    using Type = Value;
};
template <class Struct, class Argument>
struct MemberOf<void (*)(Struct&, Argument)> {
    using Owner = Struct;
};

template <auto Member>
auto& member_of(void* object) {
    return static_cast<typename MemberOf<decltype(Member)>::Owner*>(object)->*Member;
}
template <auto Member>
auto const& member_of(void const* object) {
    return static_cast<typename MemberOf<decltype(Member)>::Owner const*>(object)->*Member;
}

/// A field with the value of a member.
template <auto Member>
constexpr JsonField field(char const* key) {
    return {key,
            [](void* object, Json const& json, char const*) { read_value(json, member_of<Member>(object)); },
            [](void const* object, Json& json) { write_value(json, member_of<Member>(object)); }};
}

/// A field with the name of an enumerator.
/// \tparam parse from the name; to_string() is the reverse
template <auto Member, auto parse>
constexpr JsonField named_field(char const* key) {
    return {key,
            [](void* object, Json const& json, char const* name_of_field) {
                std::string name;
                read_value(json, name);
                auto const value = parse(name);
                if (!value) refuse_json(std::string(name_of_field) + " '" + name + "' is unknown");
                member_of<Member>(object) = *value;
            },
            [](void const* object, Json& json) { write_value(json, to_string(member_of<Member>(object))); }};
}

/// A field that is no plain member.
/// \tparam read void(Struct&, Json const&)
/// \tparam write void(Struct const&, Json&)
template <auto read, auto write>
constexpr JsonField computed_field(char const* key) {
    using Owner = typename MemberOf<decltype(read)>::Owner;
    return {key,
            [](void* object, Json const& json, char const*) { read(*static_cast<Owner*>(object), json); },
            [](void const* object, Json& json) { write(*static_cast<Owner const*>(object), json); }};
}

/// The field is always written, but files of older programs lack it.
constexpr JsonField absent_in_old(JsonField row) {
    row.may_be_absent = true;
    return row;
}

/// The field is only written if the member has a value other than false, 0, the first enumerator, or empty.
template <auto Member>
constexpr JsonField written_if(JsonField row) {
    row.may_be_absent = true;
    row.is_written = [](void const* object) {
        return member_of<Member>(object) != typename MemberOf<decltype(Member)>::Type{};
    };
    return row;
}

/// The field is only written if the member is false.
template <auto Member>
constexpr JsonField written_unless(JsonField row) {
    row.may_be_absent = true;
    row.is_written = [](void const* object) { return !member_of<Member>(object); };
    return row;
}

template <auto Member>
constexpr JsonField optional_field(char const* key) {
    return written_if<Member>(field<Member>(key));
}

/// A line of a file to which programs append: an object with the number of its version under `key`.
template <HasJsonFields Struct>
std::string render_versioned_line(char const* key, int version, Struct const& value) {
    auto json = fields_to_json(value);
    json[key] = version;
    return to_line(json) + "\n";
}
/// Skips lines that are incomplete, are damaged or have a newer version.
template <HasJsonFields Struct>
std::vector<Struct> parse_versioned_lines(char const* key, int version, std::string_view text) {
    std::vector<Struct> values;
    for (auto const line : split_lines(text)) {
        auto const json = try_parse_json(line);
        if (!json.is_object() || !json.contains(key)) continue;
        auto const& written = json.at(key);
        if (!written.is_number_integer() || written.get<std::int64_t>() > version) continue;
        if (auto value = fields_from_json<Struct>(key, json)) values.push_back(*std::move(value));
    }
    return values;
}

}  // namespace det
