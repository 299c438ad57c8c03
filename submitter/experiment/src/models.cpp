#include <det/experiment/find_checkpoint.hpp>
#include <det/experiment/load_site.hpp>
#include <det/experiment/models.hpp>
#include <det/experiment/root_directory.hpp>
#include <det/experiment/trusted_directories.hpp>
#include <det/foundation/text.hpp>
#include <det/model_registry/model_changes.hpp>

#include <fmt/format.h>

namespace det::experiment {
namespace {

using model_registry::RegisteredVersion;
using model_registry::Registry;

Error still_registered(std::string_view what, RegisteredVersion const& version) {
    return Error{
        codes::wrong_state,
        fmt::format("{} is version {} of the model '{}'", what, version.version,
                    escape_control(version.model)),
        fmt::format("first 'det-submit model delete {} --version {}'", version.model_id, version.version)};
}

}  // namespace

Result<Registry> load_models(Context const& context) {
    DET_TRY_ASSIGN(auto const root, find_shown_root(context));
    return model_registry::load_registry(root);
}

Result<Registry> change_models(model_registry::Decide const& decide, Context const& context) {
    DET_TRY_ASSIGN(auto const root, find_root(context.environment));
    auto const site = load_site_file(context.environment);
    if (!site) return site.error().sorted().front().error;
    DET_TRY(require_trusted_root(root, trust_rules(*site)));
    DET_TRY_ASSIGN(auto registry, model_registry::change_registry(root, context.clock.now(),
                                                                  event_author(context.environment), decide));
    DET_TRY(record_root_format(root));
    return registry;
}

Result<std::pair<model_registry::Model, model_registry::ModelVersion>> register_checkpoint(
    std::string const& name, std::string const& uuid, Context& context) {
    DET_TRY_ASSIGN(auto const root, find_root(context.environment));
    DET_TRY_ASSIGN(auto const found, find_checkpoint(root, uuid, context.environment));
    auto const& manifest = found.manifest;
    model_registry::RegisteredCheckpoint const checkpoint{manifest.uuid, manifest.run,
                                                          manifest.steps_completed};
    DET_TRY_ASSIGN(
        auto const registry,
        change_models(
            [&](Registry const& now) { return model_registry::register_version(now, name, checkpoint); },
            context));
    DET_TRY_ASSIGN(auto const model, model_registry::require_model(registry, name));
    auto const& version = model.versions.back();
    // Garbage collection that began before may have removed the checkpoint. One that begins later keeps it.
    if (auto const still = found.store->load_manifest(manifest.uuid); !still) {
        (void)change_models(
            [&](Registry const& now) { return model_registry::delete_model(now, name, version.number); },
            context);
        return Error(still.error()).while_doing("looking whether the registered checkpoint is still there");
    }
    return std::pair(model, version);
}

Status check_not_registered(Registry const& registry, std::string const& uuid) {
    for (auto const& version : list_registered(registry)) {
        if (version.checkpoint.uuid == uuid) return still_registered("checkpoint " + uuid, version);
    }
    return Ok{};
}

Status check_not_registered(Registry const& registry, ExperimentId experiment) {
    for (auto const& version : list_registered(registry)) {
        auto const& run = version.checkpoint.run;
        auto const trial = parse_trial_id(run.substr(0, run.rfind('.')));
        if (trial && trial->experiment == experiment)
            return still_registered(
                fmt::format("checkpoint {} of experiment {}", version.checkpoint.uuid, experiment.value),
                version);
    }
    return Ok{};
}

}  // namespace det::experiment
