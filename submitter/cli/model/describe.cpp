#include <det/experiment/models.hpp>
#include <det/foundation/text.hpp>
#include <det/model_registry/model_changes.hpp>

#include <fmt/format.h>

#include "command.hpp"
#include "model/model_view.hpp"

namespace det::cli {
namespace {

class ModelDescribe final : public Command {
public:
    std::vector<Option> options() override {
        return {{"model", &model_, "its name or id", Need::required},
                {"--version", &version_, "show this version instead of the newest one"}};
    }

    Outcome run(Session& session) override {
        DET_TRY_ASSIGN(auto const registry, experiment::load_models(session));
        DET_TRY_ASSIGN(auto const model, model_registry::require_model(registry, model_));
        DET_TRY_ASSIGN(auto const version, find_version(model));
        auto json = model_json(model);
        json["version"] = version ? version_json(model, *version) : Json(nullptr);
        session.answer(json, as_text(model, version, answer_style_of(session).time));
        return ExitCode::done;
    }

private:
    using Version = std::optional<model_registry::ModelVersion>;

    Result<Version> find_version(model_registry::Model const& model) const {
        if (!version_) return model.versions.empty() ? Version() : Version(model.versions.back());
        DET_TRY_ASSIGN(auto const version, model_registry::require_version(model, *version_));
        return Version(version);
    }

    static std::string attribute_lines(model_registry::Attributes const& attributes) {
        std::string text;
        if (!attributes.description.empty())
            text += fmt::format("Description: {}\n", escape_control(attributes.description));
        if (!attributes.labels.empty())
            text += fmt::format("Labels: {}\n", escape_control(join(attributes.labels, ", ")));
        text += fmt::format("Metadata: {}\n", escape_control(to_line(*attributes.metadata)));
        if (attributes.notes.empty()) return text;
        text += "Notes:\n";
        for (auto const line : split_lines(attributes.notes))
            text += fmt::format("    {}\n", escape_control(line));
        return text;
    }

    static std::string as_text(model_registry::Model const& model, Version const& version,
                               TimeText const& time_text) {
        auto text = fmt::format("Model {}: {}{}\nCreated: {} by {}\nUpdated: {}\nVersions: {}\n", model.id,
                                escape_control(model.attributes.name), model.is_archived ? " (archived)" : "",
                                time_text(model.created), escape_control(author_name(model.by)),
                                time_text(model.updated), model.versions.size());
        text += attribute_lines(model.attributes);
        if (!version) return text;
        auto const& [number, checkpoint, attributes, created, updated, by] = *version;
        text += fmt::format("\nVersion {}{}{}\nCheckpoint: {}\nRun: {}\nSteps: {}\nRegistered: {} by {}\n",
                            number, attributes.name.empty() ? "" : ": ", escape_control(attributes.name),
                            escape_control(checkpoint.uuid),
                            checkpoint.run.empty() ? "none" : escape_control(checkpoint.run),
                            checkpoint.steps_completed, time_text(created), escape_control(author_name(by)));
        return text + attribute_lines(attributes);
    }

    std::string model_;
    std::optional<std::uint32_t> version_;
};

}  // namespace

std::unique_ptr<Command> make_model_describe() { return std::make_unique<ModelDescribe>(); }

}  // namespace det::cli
