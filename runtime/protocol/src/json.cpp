#include <det/protocol/json.hpp>

#include <ostream>

namespace det {

Json parse_json(std::string_view text) { return Json::parse(text); }

Json try_parse_json(std::string_view text) { return Json::parse(text, nullptr, false); }

std::string to_lines(Json const& json, int indent) {
    return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

std::string to_line(Json const& json) { return to_lines(json, -1); }

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
