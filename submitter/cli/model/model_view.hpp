#pragma once
#include <det/model_registry/registry.hpp>
#include <det/protocol/json.hpp>

#include <span>
#include <string>

#include "output/table.hpp"

namespace det::cli {

/// The name of the user in "user@host", the author of an event.
std::string author_name(std::string const& author);

Json model_json(model_registry::Model const& model);
Json version_json(model_registry::Model const& model, model_registry::ModelVersion const& version);

Table models_table(std::span<model_registry::Model const> models, TimeText const& time_text);
Table versions_table(std::span<model_registry::ModelVersion const> versions, TimeText const& time_text);

}  // namespace det::cli
