// The commands that create, change and delete models.
#include <det/experiment/models.hpp>
#include <det/foundation/text.hpp>
#include <det/protocol/json_or_null.hpp>

#include <fmt/format.h>

#include "command.hpp"
#include "model/attribute_options.hpp"
#include "model/model_view.hpp"

namespace det::cli {
namespace {

using model_registry::AttributeChanges;
using model_registry::Registry;

std::string with_version(std::string const& what, std::optional<std::uint32_t> version) {
    return version ? fmt::format("version {} of the {}", *version, what) : what;
}

/// Prints the model after a change.
Status answer_model(Registry const& registry, std::string const& name, std::string_view done,
                    Session& session) {
    DET_TRY_ASSIGN(auto const model, model_registry::require_model(registry, name));
    session.print_confirmation(
        model_json(model),
        fmt::format("{} model '{}', id {}", done, escape_control(model.attributes.name), model.id));
    return Ok{};
}

class ModelCreate final : public Command {
public:
    std::vector<Option> options() override {
        std::vector<Option> options{{"name", &name_, "a name that no other model has", Need::required}};
        attributes_.add_to(options);
        return options;
    }

    Outcome run(Session& session) override {
        DET_TRY_ASSIGN(auto attributes, attributes_.read());
        attributes.name = name_;
        DET_TRY_ASSIGN(
            auto const registry,
            experiment::change_models(
                [&](Registry const& now) { return model_registry::create_model(now, attributes); }, session));
        DET_TRY(answer_model(registry, name_, "Created", session));
        return ExitCode::done;
    }

private:
    std::string name_;
    AttributeOptions attributes_;
};

class ModelUpdate final : public Command {
public:
    std::vector<Option> options() override {
        std::vector<Option> options{{"model", &model_, "its name or id", Need::required},
                                    {"--version", &version_, "change this version of it"},
                                    {"--name", &name_, "the new name"}};
        attributes_.add_to(options);
        return options;
    }

    Outcome run(Session& session) override {
        DET_TRY_ASSIGN(auto changes, attributes_.read());
        changes.name = name_;
        bool const has_change =
            changes.name || changes.description || changes.notes || changes.labels || changes.metadata;
        if (!has_change)
            return Error{codes::usage, "no change is given", "see 'det-submit model update --help'"};
        std::uint32_t id = 0;
        DET_TRY_ASSIGN(auto const registry,
                       experiment::change_models(
                           [&](Registry const& now) -> Result<JsonValue> {
                               DET_TRY_ASSIGN(auto const model, model_registry::require_model(now, model_));
                               id = model.id;
                               return model_registry::update_model(now, model_, version_, changes);
                           },
                           session));
        DET_TRY(answer_updated(registry, std::to_string(id), session));
        return ExitCode::done;
    }

private:
    Status answer_updated(Registry const& registry, std::string const& id, Session& session) const {
        if (!version_) return answer_model(registry, id, "Changed", session);
        DET_TRY_ASSIGN(auto const model, model_registry::require_model(registry, id));
        DET_TRY_ASSIGN(auto const version, model_registry::require_version(model, *version_));
        session.print_confirmation(version_json(model, version),
                                   fmt::format("Changed version {} of the model '{}'", *version_,
                                               escape_control(model.attributes.name)));
        return Ok{};
    }

    std::string model_;
    std::optional<std::uint32_t> version_;
    std::optional<std::string> name_;
    AttributeOptions attributes_;
};

/// `archive` and `unarchive`.
class ModelArchive final : public Command {
public:
    using Decide = Result<JsonValue> (*)(Registry const&, std::string const&);
    ModelArchive(Decide decide, std::string_view done) : decide_(decide), done_(done) {}

    std::vector<Option> options() override { return {{"model", &model_, "its name or id", Need::required}}; }

    Outcome run(Session& session) override {
        DET_TRY_ASSIGN(
            auto const registry,
            experiment::change_models([&](Registry const& now) { return decide_(now, model_); }, session));
        DET_TRY(answer_model(registry, model_, done_, session));
        return ExitCode::done;
    }

private:
    Decide decide_;
    std::string_view done_;
    std::string model_;
};

class ModelDelete final : public Command {
public:
    std::vector<Option> options() override {
        return {{"model", &model_, "its name or id", Need::required},
                {"--version", &version_, "delete only this version"},
                {"-y,--yes", &is_sure_, "delete it without a question"}};
    }

    Outcome run(Session& session) override {
        DET_TRY_ASSIGN(auto const registry, experiment::load_models(session));
        DET_TRY_ASSIGN(auto const model, model_registry::require_model(registry, model_));
        if (version_) DET_TRY(model_registry::require_version(model, *version_));
        auto const what =
            with_version(fmt::format("model '{}'", escape_control(model.attributes.name)), version_);
        DET_TRY_ASSIGN(bool const goes_on, session.confirm_removal(is_sure_, what));
        if (!goes_on) return ExitCode::could_not;
        auto const id = std::to_string(model.id);
        DET_TRY(experiment::change_models(
            [&](Registry const& now) { return model_registry::delete_model(now, id, version_); }, session));
        session.print_confirmation(Json{{"id", model.id}, {"version", json_or_null(version_)}},
                                   "Deleted " + what);
        return ExitCode::done;
    }

private:
    std::string model_;
    std::optional<std::uint32_t> version_;
    bool is_sure_ = false;
};

}  // namespace

std::unique_ptr<Command> make_model_create() { return std::make_unique<ModelCreate>(); }
std::unique_ptr<Command> make_model_update() { return std::make_unique<ModelUpdate>(); }
std::unique_ptr<Command> make_model_archive() {
    return std::make_unique<ModelArchive>(model_registry::archive_model, "Archived");
}
std::unique_ptr<Command> make_model_unarchive() {
    return std::make_unique<ModelArchive>(model_registry::unarchive_model, "Unarchived");
}
std::unique_ptr<Command> make_model_delete() { return std::make_unique<ModelDelete>(); }

}  // namespace det::cli
