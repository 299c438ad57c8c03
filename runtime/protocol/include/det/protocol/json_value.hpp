#pragma once
#include <concepts>
#include <iosfwd>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <utility>

namespace det {

using Json = nlohmann::json;

/// A JSON value as a member of a structure. It keeps nlohmann's definitions, which are slow to compile, out
/// of the headers that declare such structures: a source that reads or changes the value includes
/// <det/protocol/json.hpp>. Copies are deep. After a move the old object may only be assigned to or
/// destroyed.
class JsonValue {
public:
    JsonValue();  // an empty JSON object
    /// A template, so that a braced list does not compile: `value = {{"name", 1}}` would be an array of an
    /// array. Write `value = Json{{"name", 1}}`.
    template <std::same_as<Json> T>
    JsonValue(T value) : value_(wrap(std::move(value))) {}
    JsonValue(JsonValue const& other);
    JsonValue(JsonValue&& other) noexcept;
    JsonValue& operator=(JsonValue other) noexcept;
    ~JsonValue();

    Json& operator*() { return *value_; }
    Json const& operator*() const { return *value_; }
    Json* operator->() { return value_.get(); }
    Json const* operator->() const { return value_.get(); }

    friend bool operator==(JsonValue const& a, JsonValue const& b);
    friend bool operator==(JsonValue const& a, Json const& b);
    friend std::ostream& operator<<(std::ostream& out, JsonValue const& value);

private:
    static std::unique_ptr<Json> wrap(Json&& value);

    std::unique_ptr<Json> value_;
};

/// Allows a JsonValue in the initializer of a Json: Json{{"metadata", value}}.
void to_json(Json& json, JsonValue const& value);

}  // namespace det
