#include <det/foundation/text.hpp>
#include <det/model_registry/model_changes.hpp>
#include <det/protocol/json.hpp>

#include <algorithm>
#include <fmt/format.h>

namespace det::model_registry {
namespace {

bool is_number(std::string_view text) { return parse_integer<std::uint64_t>(text).has_value(); }

/// \param own the id of the model that is renamed; 0: it is created
Status check_name(Registry const& registry, std::string const& name, std::uint32_t own) {
    if (trim(name).empty()) return Error{codes::usage, "the name of a model has at least one character"};
    if (is_number(name))
        return Error{codes::usage,
                     fmt::format("'{}' can't be the name of a model: it would be taken for an id", name)};
    if (escape_control(name) != name || !is_valid_utf8(name))
        return Error{codes::usage, fmt::format("'{}' can't be the name of a model: it has control characters",
                                               escape_control(name))};
    auto const other = std::ranges::find_if(registry.models, [&](Model const& model) {
        return model.attributes.name == name && model.id != own;
    });
    if (other == registry.models.end()) return Ok{};
    return Error{codes::name_taken, fmt::format("there is a model '{}': it has the id {}", name, other->id),
                 "choose another name"};
}

void write_attributes(Json& body, AttributeChanges const& changes) {
    if (changes.name) body["name"] = *changes.name;
    if (changes.description) body["description"] = *changes.description;
    if (changes.notes) body["notes"] = *changes.notes;
    if (changes.labels) body["labels"] = *changes.labels;
    if (changes.metadata) body["metadata"] = **changes.metadata;
}

Result<Model> require_changeable(Registry const& registry, std::string const& name) {
    DET_TRY_ASSIGN(auto model, require_model(registry, name));
    if (!model.is_archived) return model;
    return Error{codes::wrong_state, fmt::format("the model '{}' is archived", model.attributes.name),
                 fmt::format("first 'det-submit model unarchive {}'", model.id)};
}

Json change_of(Model const& model, std::string_view change) {
    return {{"change", change}, {"model", model.id}};
}

}  // namespace

Result<Model> require_model(Registry const& registry, std::string const& name) {
    std::vector<std::string_view> names;
    for (auto const& model : registry.models) {
        if (model.attributes.name == name || std::to_string(model.id) == name) return model;
        names.push_back(model.attributes.name);
    }
    auto const near = nearest_word(name, names);
    return Error{codes::no_such_model, fmt::format("there is no model '{}'", escape_control(name)),
                 near ? fmt::format("use '{}'", escape_control(*near)) : "see 'det-submit model list'"};
}

Result<ModelVersion> require_version(Model const& model, std::uint32_t number) {
    auto const found = std::ranges::find(model.versions, number, &ModelVersion::number);
    if (found != model.versions.end()) return *found;
    return Error{
        codes::no_such_version,
        fmt::format("the model '{}' has no version {}", escape_control(model.attributes.name), number),
        fmt::format("see 'det-submit model list-versions {}'", model.id)};
}

Result<JsonValue> create_model(Registry const& registry, AttributeChanges const& attributes) {
    DET_TRY(check_name(registry, attributes.name.value_or(""), 0));
    Json body{{"change", "created"}, {"model", registry.models_made + 1}};
    write_attributes(body, attributes);
    return JsonValue(std::move(body));
}

Result<JsonValue> update_model(Registry const& registry, std::string const& name,
                               std::optional<std::uint32_t> version, AttributeChanges const& changes) {
    DET_TRY_ASSIGN(auto const model, require_changeable(registry, name));
    auto body = change_of(model, "updated");
    if (version) {
        DET_TRY(require_version(model, *version));
        body["version"] = *version;
    } else if (changes.name) {
        DET_TRY(check_name(registry, *changes.name, model.id));
    }
    write_attributes(body, changes);
    return JsonValue(std::move(body));
}

Result<JsonValue> register_version(Registry const& registry, std::string const& name,
                                   RegisteredCheckpoint const& checkpoint) {
    DET_TRY_ASSIGN(auto const model, require_changeable(registry, name));
    auto body = change_of(model, "version-registered");
    body["version"] = model.versions_made + 1;
    body["checkpoint"] = checkpoint.uuid;
    body["run"] = checkpoint.run;
    body["steps_completed"] = checkpoint.steps_completed;
    return JsonValue(std::move(body));
}

Result<JsonValue> archive_model(Registry const& registry, std::string const& name) {
    DET_TRY_ASSIGN(auto const model, require_model(registry, name));
    return JsonValue(change_of(model, "archived"));
}

Result<JsonValue> unarchive_model(Registry const& registry, std::string const& name) {
    DET_TRY_ASSIGN(auto const model, require_model(registry, name));
    return JsonValue(change_of(model, "unarchived"));
}

Result<JsonValue> delete_model(Registry const& registry, std::string const& name,
                               std::optional<std::uint32_t> version) {
    DET_TRY_ASSIGN(auto const model, require_model(registry, name));
    auto body = change_of(model, "deleted");
    if (version) {
        DET_TRY(require_version(model, *version));
        body["version"] = *version;
    }
    return JsonValue(std::move(body));
}

}  // namespace det::model_registry
