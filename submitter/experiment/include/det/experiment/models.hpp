#pragma once
#include <det/experiment/context.hpp>
#include <det/model_registry/registry.hpp>

#include <string>
#include <utility>

namespace det::experiment {

/// Reads the model registry of this user's root.
Result<model_registry::Registry> load_models(Context const& context);

/// Changes the model registry of this user's root, as model_registry::change_registry().
/// \return also codes::unsafe_owner if others can write the root or the directories above it
Result<model_registry::Registry> change_models(model_registry::Decide const& decide, Context const& context);

/// Makes a checkpoint the next version of a model. The checkpoint then stays until the version is deleted.
/// \param model its name or id
/// \return the model and its new version; codes::no_such_checkpoint, also if another process removes the
///     checkpoint meanwhile
Result<std::pair<model_registry::Model, model_registry::ModelVersion>> register_checkpoint(
    std::string const& model, std::string const& uuid, Context& context);

/// codes::wrong_state if a version of a model is this checkpoint.
Status check_not_registered(model_registry::Registry const& registry, std::string const& uuid);
/// codes::wrong_state if a version of a model is a checkpoint of this experiment.
Status check_not_registered(model_registry::Registry const& registry, ExperimentId experiment);

}  // namespace det::experiment
