#include <det/config/key_reference.hpp>
#include <det/protocol/json.hpp>
#include <det/yaml/parse.hpp>
#include <det/yaml/render.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <map>

#include "schema/tables.hpp"

namespace det::config {
namespace {

using Json = nlohmann::ordered_json;  // keys stay in the order of the tables
using schema::Key;
using schema::Member;
using schema::Required;
using schema::Shape;
using schema::Type;

constexpr char hyperparameter_ref[] = "#/definitions/hyperparameter";

Json with_limits(Json schema, Type const& type) {
    if (type.minimum != std::numeric_limits<std::int64_t>::min()) schema["minimum"] = type.minimum;
    if (type.maximum != std::numeric_limits<std::int64_t>::max()) schema["maximum"] = type.maximum;
    if (type.exclusive_minimum != -std::numeric_limits<double>::infinity())
        schema["exclusiveMinimum"] = type.exclusive_minimum;
    return schema;
}

/// null means absent, so every optional key may be null.
Json or_null(Json schema) {
    for (auto const* choice : {"anyOf", "oneOf"}) {
        if (schema.contains(choice)) schema[choice].push_back({{"type", "null"}});
    }
    if (schema.contains("enum")) schema["enum"].push_back(nullptr);
    if (schema.contains("type") && schema["type"] != "null")
        schema["type"] = Json::array({schema["type"], "null"});
    return schema;
}

Json any_of(std::vector<Json> schemas) {
    schemas.erase(std::unique(schemas.begin(), schemas.end()), schemas.end());
    return schemas.size() == 1 ? schemas.front() : Json{{"anyOf", schemas}};
}

class SchemaWriter {
public:
    explicit SchemaWriter(SchemaFor of) : of_(of) {}

    Json document() const {
        Json document{{"$schema", "http://json-schema.org/draft-07/schema#"},
                      {"title", "det-submit experiment configuration"}};
        document.update(of_type(schema::experiment));
        document["definitions"] = {{"hyperparameter", hyperparameter()}};
        return document;
    }

private:
    Json of_type(Type const& type) const {
        switch (type.shape) {
            case Shape::anything:
                return Json::object();
            case Shape::boolean:
                return {{"type", "boolean"}};
            case Shape::integer:
                return with_limits({{"type", "integer"}}, type);
            case Shape::number:
                return with_limits({{"type", "number"}}, type);
            case Shape::text:
                return {{"type", "string"}};
            case Shape::choice:
                return {{"enum", type.choices}};
            case Shape::list:
                return {{"type", "array"}, {"items", of_type(*type.item)}};
            case Shape::map:
                return {{"type", "object"}, {"additionalProperties", of_type(*type.item)}};
            case Shape::object:
                return of_keys({type.keys}, type.allows_other_keys);
            case Shape::tagged_union:
                return of_union(type);
            case Shape::either:
                return of_alternatives(type);
            case Shape::hyperparameter:
                return {{"$ref", hyperparameter_ref}};
        }
        return Json::object();
    }

    Json of_alternatives(Type const& type) const {
        if (type.alternatives.empty()) return {{"type", "null"}};
        std::vector<Json> alternatives;
        for (auto const* alternative : type.alternatives) alternatives.push_back(of_type(*alternative));
        return any_of(std::move(alternatives));
    }

    bool is_required(Key const& key) const {
        if (key.required == Required::always) return true;
        return of_ == SchemaFor::complete && key.required != Required::no && key.default_value.empty();
    }

    Json of_key(Key const& key) const {
        auto property = of_type(key.type);
        if (!is_required(key)) property = or_null(std::move(property));
        auto const help = key.ignored_reason().empty() ? std::string(key.help)
                                                       : fmt::format("ignored: {}", key.ignored_reason());
        if (!help.empty()) property["description"] = help;
        if (auto const default_value = yaml::parse_document(key.default_value, "default");
            default_value && !key.default_value.empty())
            property["default"] = yaml::to_json(*default_value);
        return property;
    }

    Json of_keys(std::vector<std::span<Key const>> const& lists, bool allows_other_keys) const {
        auto properties = Json::object();
        auto required = Json::array();
        for (auto const& keys : lists) {
            for (auto const& key : keys) {
                properties[std::string(key.name)] = of_key(key);
                if (is_required(key)) required.push_back(key.name);
            }
        }
        Json schema{
            {"type", "object"}, {"properties", properties}, {"additionalProperties", allows_other_keys}};
        if (!required.empty()) schema["required"] = required;
        return schema;
    }

    Json of_union(Type const& type) const {
        auto members = Json::array();
        for (auto const& member : type.members) {
            if (of_ == SchemaFor::user_files || member.replacement.empty())
                members.push_back(of_member(type, member));
        }
        auto const* tag = find_key(type.keys, type.tag);
        bool const may_be_part = of_ == SchemaFor::user_files && tag->required != Required::always;
        if (may_be_part) members.push_back(of_part(type));
        return {{"oneOf", members}};
    }

    Json of_member(Type const& type, Member const& member) const {
        auto schema = of_keys({type.keys, member.keys}, type.allows_other_keys || member.allows_other_keys);
        auto const tag = std::string(type.tag);
        schema["properties"][tag] = {{"const", member.name}};
        if (!member.replacement.empty())
            schema["properties"][tag]["description"] =
                fmt::format("no longer supported: {}", member.replacement);
        auto& required = schema["required"];
        if (required.is_null()) required = Json::array();
        if (std::find(required.begin(), required.end(), tag) == required.end()) required.push_back(tag);
        return schema;
    }

    /// The schema of a tagged union whose tag may be in another file: the keys of all members are allowed.
    Json of_part(Type const& type) const {
        auto schema = of_keys({type.keys}, type.allows_other_keys);
        auto& properties = schema["properties"];
        properties.erase(std::string(type.tag));
        std::map<std::string, std::vector<Json>> shapes;
        for (auto const& member : type.members) {
            for (auto const& key : member.keys) shapes[std::string(key.name)].push_back(of_key(key));
        }
        for (auto& [name, schemas] : shapes) properties[name] = any_of(std::move(schemas));
        return schema;
    }

    Json hyperparameter() const {
        Json const constant{{"type", {"string", "number", "boolean", "null", "array"}}};
        Json const group{{"type", "object"},
                         {"properties", {{"type", {{"type", "null"}}}}},
                         {"additionalProperties", {{"$ref", hyperparameter_ref}}}};
        return {{"anyOf", {constant, of_union(schema::searched_hyperparameter), group}}};
    }

    SchemaFor of_;
};

}  // namespace

std::string render_json_schema(SchemaFor of) { return to_lines(SchemaWriter(of).document(), 1) + "\n"; }

}  // namespace det::config
