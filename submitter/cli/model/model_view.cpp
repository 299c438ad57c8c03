#include "model/model_view.hpp"

#include <det/foundation/text.hpp>

namespace det::cli {
namespace {

using model_registry::Model;
using model_registry::ModelVersion;

std::optional<TrialId> trial_of(std::string const& run) {
    return parse_trial_id(run.substr(0, run.rfind('.')));
}

Json checkpoint_json(model_registry::RegisteredCheckpoint const& checkpoint) {
    auto const trial = trial_of(checkpoint.run);
    return {{"uuid", checkpoint.uuid},
            {"trial_id", trial ? Json(to_integer(*trial)) : Json(nullptr)},
            {"trial", trial ? Json(to_string(*trial)) : Json(nullptr)},
            {"steps_completed", checkpoint.steps_completed}};
}

}  // namespace

std::string author_name(std::string const& author) { return author.substr(0, author.find('@')); }

Json model_json(Model const& model) {
    auto const& attributes = model.attributes;
    return {{"id", model.id},
            {"name", attributes.name},
            {"description", attributes.description},
            {"notes", attributes.notes},
            {"labels", attributes.labels},
            {"metadata", attributes.metadata},
            {"creation_time", format_utc(model.created)},
            {"last_updated_time", format_utc(model.updated)},
            {"username", author_name(model.by)},
            {"archived", model.is_archived},
            {"num_versions", model.versions.size()}};
}

Json version_json(Model const& model, ModelVersion const& version) {
    auto const& attributes = version.attributes;
    return {{"model_id", model.id},
            {"model", model.attributes.name},
            {"version", version.number},
            {"checkpoint", checkpoint_json(version.checkpoint)},
            {"name", attributes.name},
            {"comment", attributes.description},
            {"notes", attributes.notes},
            {"labels", attributes.labels},
            {"metadata", attributes.metadata},
            {"creation_time", format_utc(version.created)},
            {"last_updated_time", format_utc(version.updated)},
            {"username", author_name(version.by)}};
}

Table models_table(std::span<Model const> models, TimeText const& time_text) {
    Table table({"ID", "Name", "Versions", "Created", "Updated", "Archived", "Metadata"},
                {"Archived", "Created", "Metadata"});
    for (auto const& model : models) {
        table.add({std::to_string(model.id), model.attributes.name, std::to_string(model.versions.size()),
                   time_text(model.created), time_text(model.updated), model.is_archived ? "yes" : "",
                   to_line(*model.attributes.metadata)});
    }
    return table;
}

Table versions_table(std::span<ModelVersion const> versions, TimeText const& time_text) {
    Table table({"Version", "Trial", "Steps", "Checkpoint", "Registered", "Name", "Metadata"},
                {"Metadata", "Registered"});
    for (auto const& version : versions) {
        auto const trial = trial_of(version.checkpoint.run);
        table.add({std::to_string(version.number), trial ? to_string(*trial) : "",
                   std::to_string(version.checkpoint.steps_completed), version.checkpoint.uuid,
                   time_text(version.created), version.attributes.name,
                   to_line(*version.attributes.metadata)});
    }
    return table;
}

}  // namespace det::cli
