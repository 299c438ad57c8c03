// The JSON Schema and the defaults, which are made from the key tables.
#include <det/config/key_reference.hpp>
#include <det/foundation/files.hpp>
#include <det/protocol/json.hpp>

#include <set>

#include "config_support.hpp"
#include "golden.hpp"
#include "schema/tables.hpp"
#include "test_paths.hpp"

using namespace det;
using namespace det::config;
using Json = nlohmann::json;

namespace key_reference_test {

/// Checks values against a JSON Schema. Implements only the keywords that det-submit's schema uses.
class Validator {
public:
    explicit Validator(Json root) : root_(std::move(root)) {}
    bool accepts(Json const& value) const { return fits(value, root_); }

private:
    bool fits(Json const& value, Json const& schema) const {
        if (schema.is_boolean()) return schema.get<bool>();
        if (schema.contains("$ref")) return fits(value, root_["definitions"]["hyperparameter"]);
        if (schema.contains("type") && !has_type(value, schema["type"])) return false;
        if (schema.contains("const") && value != schema["const"]) return false;
        if (schema.contains("enum") && !contains(schema["enum"], value)) return false;
        if (schema.contains("anyOf") && matches(value, schema["anyOf"]) == 0) return false;
        if (schema.contains("oneOf") && matches(value, schema["oneOf"]) != 1) return false;
        return has_limits(value, schema) && has_contents(value, schema);
    }

    static bool contains(Json const& list, Json const& value) {
        return std::find(list.begin(), list.end(), value) != list.end();
    }
    int matches(Json const& value, Json const& schemas) const {
        return static_cast<int>(std::count_if(schemas.begin(), schemas.end(),
                                              [&](auto const& schema) { return fits(value, schema); }));
    }
    static bool has_type(Json const& value, Json const& type) {
        if (type.is_array())
            return std::any_of(type.begin(), type.end(),
                               [&](auto const& one) { return has_type(value, one); });
        if (type == "integer") return value.is_number_integer();
        return type == value.type_name();
    }
    static bool has_limits(Json const& value, Json const& schema) {
        if (!value.is_number()) return true;
        if (schema.contains("minimum") && value < schema["minimum"]) return false;
        if (schema.contains("maximum") && value > schema["maximum"]) return false;
        return !schema.contains("exclusiveMinimum") || value > schema["exclusiveMinimum"];
    }
    bool has_contents(Json const& value, Json const& schema) const {
        if (value.is_array() && schema.contains("items")) {
            for (auto const& item : value)
                if (!fits(item, schema["items"])) return false;
        }
        if (!value.is_object()) return true;
        auto const properties = schema.value("properties", Json::object());
        for (auto const& [key, entry] : value.items()) {
            auto const& described =
                properties.contains(key) ? properties[key] : schema.value("additionalProperties", Json(true));
            if (!fits(entry, described)) return false;
        }
        for (auto const& key : schema.value("required", Json::array()))
            if (!value.contains(key)) return false;
        return true;
    }

    Json root_;
};

Json schema_of(SchemaFor of) { return parse_json(render_json_schema(of)); }
Json document(std::string_view text) { return yaml::to_json(layer(text)); }

/// Checks that every key of the type's table is in the schema, with the properties that the table gives it.
void require_keys(Json const& schema, schema::Type const& type, std::string const& path);

void require_keys(Json const& schema, std::span<schema::Key const> keys, std::string_view tag,
                  std::string const& path) {
    for (auto const& key : keys) {
        if (key.name == tag) continue;
        auto const name = std::string(key.name);
        auto const here = path + "." + name;
        BOOST_REQUIRE_MESSAGE(schema["properties"].contains(name), here);
        auto const& property = schema["properties"][name];
        BOOST_TEST(property.contains("default") == !key.default_value.empty(), here);
        if (!key.help.empty()) BOOST_TEST(property["description"] == key.help, here);
        require_keys(property, key.type, here);
    }
}

void require_keys(Json const& schema, schema::Type const& type, std::string const& path) {
    using schema::Shape;
    BOOST_TEST_CONTEXT(path) {
        if (type.shape == Shape::object) {
            BOOST_TEST(schema["additionalProperties"] == type.allows_other_keys);
            require_keys(schema, type.keys, "", path);
        }
        if (type.shape == Shape::tagged_union) {
            for (std::size_t i = 0; i < type.members.size(); ++i) {
                auto const& member = schema["oneOf"][i];
                auto const here = path + "<" + std::string(type.members[i].name) + ">";
                BOOST_TEST(member["properties"][std::string(type.tag)]["const"] == type.members[i].name);
                require_keys(member, type.keys, type.tag, here);
                require_keys(member, type.members[i].keys, type.tag, here);
            }
        }
        if (type.shape == Shape::list) require_keys(schema["items"], *type.item, path + "[]");
        for (std::size_t i = 0; type.alternatives.size() > 1 && i < type.alternatives.size(); ++i)
            require_keys(schema["anyOf"][i], *type.alternatives[i], path);
        if (type.shape == Shape::choice) {
            for (auto const word : type.choices)
                BOOST_TEST(
                    (std::find(schema["enum"].begin(), schema["enum"].end(), word) != schema["enum"].end()),
                    word);
        }
    }
}

}  // namespace key_reference_test

BOOST_AUTO_TEST_SUITE(key_reference_test)

BOOST_AUTO_TEST_CASE(every_key_of_the_tables_stands_in_the_schema) {
    auto const schema = schema_of(SchemaFor::user_files);
    BOOST_TEST(schema["$schema"] == "http://json-schema.org/draft-07/schema#");
    require_keys(schema, schema::experiment, "");
    require_keys(schema["definitions"]["hyperparameter"]["anyOf"][1], schema::searched_hyperparameter, "hp");
}

BOOST_AUTO_TEST_CASE(the_schema_takes_what_is_sane) {
    Validator const validator(schema_of(SchemaFor::user_files));
    for (std::string_view const text :
         {"{}", "searcher: {metric: loss}", "searcher: {max_trials: 3}",
          "checkpoint_storage: {save_trial_best: 3}", "searcher: ~", "labels: ~", "internal: ~",
          "labels: {a: true}", "labels: [a]", "checkpoint_storage: {bucket: b}",
          "searcher: {name: single, max_length: 5}", "searcher: {name: single, max_length: {epochs: 1}}",
          "searcher: {name: adaptive, budget: {batches: 1}}",
          "hyperparameters: {a: 1, b: ~, c: [1, x], d: {e: {type: int, minval: 1, maxval: 2}, f: {g: x}}}",
          "hyperparameters: {a: {type: categorical, vals: [1, ~]}, b: {type: const, val: ~}}",
          "data: {anything: [1], secrets: {a: b}}",
          "environment: {image: x, environment_variables: {gpu: [A=1]}}",
          "resources: {devices: ['/a:/b', {host_path: /a, container_path: /b}], shm_size: 4G}",
          "log_policies: [{pattern: p, action: {type: exclude_node}}]"}) {
        BOOST_TEST(sanity_of(text) == "", text);
        BOOST_TEST(validator.accepts(document(text)), text);
    }
    for (auto const& name : must(list_directory(det::test::source_path("templates/config"))))
        BOOST_TEST(
            validator.accepts(document(must(read_file(det::test::source_path("templates/config/") + name)))),
            name);
}

BOOST_AUTO_TEST_CASE(the_schema_refuses_what_is_not) {
    Validator const validator(schema_of(SchemaFor::user_files));
    for (std::string_view const text :
         {"nam: x", "name: 5", "labels: abc", "max_restarts: -1", "debug: 'yes'", "checkpoint_policy: bets",
          "searcher: {name: singel}", "searcher: {name: single, max_trials: 4}", "searcher: {nmae: single}",
          "searcher: {name: adaptive_asha, divisor: 1}", "resources: {priority: 100}",
          "resources: {slot_per_trial: 16}", "hyperparameters: {a: {type: duoble, minval: 0, maxval: 1}}",
          "hyperparameters: {a: {type: int, minval: 1}}", "bind_mounts: [{container_path: /x}]",
          "checkpoint_storage: {type: shard_fs}", "slurm: {launch: ranks}",
          "min_validation_period: {batches: 1.5}", "log_policies: [{pattern: p, action: retry}]"}) {
        BOOST_TEST(sanity_of(text) != "", text);
        BOOST_TEST(!validator.accepts(document(text)), text);
    }
}

BOOST_AUTO_TEST_CASE(the_complete_schema_wants_what_creation_wants) {
    Validator const validator(schema_of(SchemaFor::complete));
    BOOST_TEST(validator.accepts(yaml::to_json(read(essentials).effective)));
    BOOST_TEST(!validator.accepts(document("name: x\nsearcher: {name: single, metric: loss}\n")));
    BOOST_TEST(!validator.accepts(document(std::string(essentials) + "resources: {slots: x}\n")));
    BOOST_TEST(!validator.accepts(
        document("entrypoint: x\nname: x\ncheckpoint_storage: {type: shared_fs, host_path: /c}"
                 "\nsearcher: {metric: loss}\n")));
}

BOOST_AUTO_TEST_CASE(the_defaults_are_written_as_they_hold) {
    auto const text = render_defaults();
    check_golden("config/defaults_explained.yaml", text);
    BOOST_TEST(sanity_of(text) == "");
    BOOST_TEST(json(layer(text)) == json(add_defaults({})));
}

BOOST_AUTO_TEST_SUITE_END()
