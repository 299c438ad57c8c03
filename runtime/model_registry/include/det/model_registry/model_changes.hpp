#pragma once
#include <det/model_registry/registry.hpp>

#include <optional>
#include <string>
#include <vector>

// The changes of the model registry. Each function is pure: it returns the body of the event that records the
// change, or an error if the registry does not allow it. A model is named by its name or its id. An archived
// model can only be unarchived or deleted (codes::wrong_state).
namespace det::model_registry {

/// New values; those that are empty stay as they are.
struct AttributeChanges {
    std::optional<std::string> name = {};
    std::optional<std::string> description = {};
    std::optional<std::string> notes = {};
    std::optional<std::vector<std::string>> labels = {};
    std::optional<JsonValue> metadata = {};
};

/// \pre `attributes.name` is set
/// \return codes::name_taken if there is a model of this name; codes::usage if the name is empty, a number or
///     has control characters
Result<JsonValue> create_model(Registry const& registry, AttributeChanges const& attributes);
/// Changes a model, or one of its versions. Errors as create_model().
Result<JsonValue> update_model(Registry const& registry, std::string const& model,
                               std::optional<std::uint32_t> version, AttributeChanges const& changes);
/// Makes the next version. The checkpoint must exist; it may belong to several versions.
Result<JsonValue> register_version(Registry const& registry, std::string const& model,
                                   RegisteredCheckpoint const& checkpoint);
Result<JsonValue> archive_model(Registry const& registry, std::string const& model);
Result<JsonValue> unarchive_model(Registry const& registry, std::string const& model);
/// Deletes a model with its versions, or one version. The checkpoints stay.
Result<JsonValue> delete_model(Registry const& registry, std::string const& model,
                               std::optional<std::uint32_t> version);

/// Finds a model by its name or id. codes::no_such_model, with a hint to the most similar name.
Result<Model> require_model(Registry const& registry, std::string const& model);
/// codes::no_such_version
Result<ModelVersion> require_version(Model const& model, std::uint32_t number);

}  // namespace det::model_registry
