#include <det/protocol/json.hpp>

#include <ostream>

namespace det {

JsonValue::JsonValue() : value_(wrap(Json::object())) {}
JsonValue::JsonValue(JsonValue const& other)
    : value_(other.value_ ? std::make_unique<Json>(*other.value_) : nullptr) {}
JsonValue::JsonValue(JsonValue&& other) noexcept = default;
JsonValue& JsonValue::operator=(JsonValue other) noexcept {
    value_ = std::move(other.value_);
    return *this;
}
JsonValue::~JsonValue() = default;

std::unique_ptr<Json> JsonValue::wrap(Json&& value) { return std::make_unique<Json>(std::move(value)); }

bool operator==(JsonValue const& a, JsonValue const& b) { return *a == *b; }
bool operator==(JsonValue const& a, Json const& b) { return *a == b; }

std::ostream& operator<<(std::ostream& out, JsonValue const& value) { return out << *value; }

void to_json(Json& json, JsonValue const& value) { json = *value; }

}  // namespace det
