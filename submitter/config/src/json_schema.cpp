#include <det/config/manual.hpp>
#include <det/yaml/parse.hpp>
#include <det/yaml/render.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>

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
    if (type.least != std::numeric_limits<std::int64_t>::min()) schema["minimum"] = type.least;
    if (type.most != std::numeric_limits<std::int64_t>::max()) schema["maximum"] = type.most;
    if (type.above != -std::numeric_limits<double>::infinity()) schema["exclusiveMinimum"] = type.above;
    return schema;
}

/// null means that the key is absent, so it may stand wherever a key may be left out.
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
    explicit SchemaWriter(SchemaOf of) : of_(of) {}

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
                return {{"enum", type.words}};
            case Shape::list:
                return {{"type", "array"}, {"items", of_type(*type.item)}};
            case Shape::map:
                return {{"type", "object"}, {"additionalProperties", of_type(*type.item)}};
            case Shape::object:
                return of_keys({type.keys}, type.is_open);
            case Shape::tagged_union:
                return of_union(type);
            case Shape::either:
                return of_ways(type);
            case Shape::hyperparameter:
                return {{"$ref", hyperparameter_ref}};
        }
        return Json::object();
    }

    Json of_ways(Type const& type) const {
        if (type.ways.empty()) return {{"type", "null"}};
        std::vector<Json> ways;
        for (auto const* way : type.ways) ways.push_back(of_type(*way));
        return any_of(std::move(ways));
    }

    bool is_required(Key const& key) const {
        if (key.required == Required::always) return true;
        return of_ == SchemaOf::complete && key.required != Required::no && key.preset.empty();
    }

    Json of_key(Key const& key) const {
        auto property = of_type(key.type);
        if (!is_required(key)) property = or_null(std::move(property));
        auto const help = key.ignored_because.empty() ? std::string(key.help)
                                                      : fmt::format("ignored: {}", key.ignored_because);
        if (!help.empty()) property["description"] = help;
        if (auto const preset = yaml::parse_document(key.preset, "default"); preset && !key.preset.empty())
            property["default"] = yaml::to_json(*preset);
        return property;
    }

    Json of_keys(std::vector<std::span<Key const>> const& lists, bool is_open) const {
        auto properties = Json::object();
        auto required = Json::array();
        for (auto const& keys : lists) {
            for (auto const& key : keys) {
                properties[std::string(key.name)] = of_key(key);
                if (is_required(key)) required.push_back(key.name);
            }
        }
        Json schema{{"type", "object"}, {"properties", properties}, {"additionalProperties", is_open}};
        if (!required.empty()) schema["required"] = required;
        return schema;
    }

    Json of_union(Type const& type) const {
        auto members = Json::array();
        for (auto const& member : type.members) {
            if (of_ == SchemaOf::writing || member.use_instead.empty())
                members.push_back(of_member(type, member));
        }
        auto const* tag = find_key(type.keys, type.tag);
        bool const may_be_part = of_ == SchemaOf::writing && tag->required != Required::always;
        if (may_be_part) members.push_back(of_part(type));
        return {{"oneOf", members}};
    }

    Json of_member(Type const& type, Member const& member) const {
        auto schema = of_keys({type.keys, member.keys}, type.is_open || member.is_open);
        auto const tag = std::string(type.tag);
        schema["properties"][tag] = {{"const", member.name}};
        if (!member.use_instead.empty())
            schema["properties"][tag]["description"] =
                fmt::format("no longer supported: {}", member.use_instead);
        auto& required = schema["required"];
        if (required.is_null()) required = Json::array();
        if (std::find(required.begin(), required.end(), tag) == required.end()) required.push_back(tag);
        return schema;
    }

    /// What a template says of a union without naming the member: any key of any.
    Json of_part(Type const& type) const {
        auto schema = of_keys({type.keys}, type.is_open);
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

    SchemaOf of_;
};

}  // namespace

std::string render_json_schema(SchemaOf of) { return SchemaWriter(of).document().dump(1) + "\n"; }

}  // namespace det::config
