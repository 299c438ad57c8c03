#include "json_fields.hpp"

namespace det {

void read_value(Json const& json, UtcTime& value) {
    auto const text = json.get<std::string>();
    auto const time = parse_utc(text);
    if (!time) refuse_json("'" + text + "' is no time");
    value = *time;
}

void read_value(Json const& json, std::map<std::uint32_t, std::uint32_t>& value) {
    value.clear();
    for (auto const& pair : json) value[pair.at(0).get<std::uint32_t>()] = pair.at(1).get<std::uint32_t>();
}

void write_value(Json& json, UtcTime value) { json = format_utc(value); }

void write_value(Json& json, std::map<std::uint32_t, std::uint32_t> const& value) {
    json = Json::array();
    for (auto const& [first, second] : value) json.push_back(Json::array({first, second}));
}

void require_array(Json const& json) {
    if (!json.is_array())
        throw Json::type_error::create(302, std::string("type must be array, but is ") + json.type_name(),
                                       &json);
}

void refuse_json(std::string const& message) { throw Json::other_error::create(501, message, nullptr); }

void read_fields(Json const& json, std::span<JsonField const> fields, void* object) {
    for (auto const& field : fields) {
        auto const found = json.find(field.key);
        if (found == json.end() && field.may_be_absent) continue;
        field.read(object, found == json.end() ? json.at(field.key) : *found, field.key);
    }
}

void write_fields(Json& json, std::span<JsonField const> fields, void const* object) {
    for (auto const& field : fields) {
        if (field.is_written == nullptr || field.is_written(object)) field.write(object, json[field.key]);
    }
}

}  // namespace det
