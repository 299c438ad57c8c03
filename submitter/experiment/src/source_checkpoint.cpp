#include <det/checkpoint/storage/open_store.hpp>
#include <det/experiment/find_checkpoint.hpp>
#include <det/experiment/source_checkpoint.hpp>
#include <det/foundation/uuid.hpp>
#include <det/journal/manifest_sums.hpp>
#include <det/journal/pack_summary.hpp>
#include <det/journal/reader.hpp>
#include <det/protocol/json.hpp>
#include <det/retention/find_latest_valid.hpp>
#include <det/retention/list_checkpoints.hpp>
#include <det/yaml/render.hpp>

#include <fmt/format.h>

namespace det::experiment {
namespace {

constexpr std::string_view uuid_key = "searcher.source_checkpoint_uuid";
constexpr std::string_view trial_key = "searcher.source_trial_id";

/// The newest whole checkpoint of a trial, wherever its experiment stores them.
Result<std::string> find_newest_of_trial(std::int64_t number, RootLayout const& root,
                                         Environment const& environment) {
    auto const trial = parse_trial_id(std::to_string(number));
    if (!trial) {
        return Error{codes::bad_value, fmt::format("{}: {} is no trial", trial_key, number),
                     "trial 7.3 is written 7000003"};
    }
    ExperimentLayout const experiment(root, trial->experiment);
    auto const spec = journal::load_spec(experiment);
    if (!spec) {
        return Error{codes::no_such_trial, fmt::format("there is no trial {}", to_string(*trial)),
                     "see 'det-submit experiment list'"};
    }
    DET_TRY(journal::require_readable(root, trial->experiment));
    DET_TRY_ASSIGN(auto const store, checkpoint::storage::open_store(*spec, environment));
    DET_TRY_ASSIGN(auto const known, retention::list_stored_checkpoints(experiment, *spec, *store));
    DET_TRY_ASSIGN(auto const newest, retention::find_latest_valid(known, trial->index, *store));
    if (newest) return *newest;
    return Error{codes::no_such_checkpoint, fmt::format("trial {} has no checkpoint", to_string(*trial)),
                 "see 'det-submit experiment list-checkpoints ID'"};
}

/// Fails if the checkpoint is not in the storage of the experiment, or if the storage is a directory and a
/// file of the checkpoint is damaged.
/// \return the SHA-256 of its manifest
Result<std::string> check_source(config::ExperimentConfig const& config, std::string const& uuid,
                                 RootLayout const& root, Environment const& environment,
                                 std::optional<uid_t> trusted_owner) {
    auto const* storage = config.effective.find("checkpoint_storage");
    DET_TRY_ASSIGN(auto const store, checkpoint::storage::open_store(
                                         storage != nullptr ? yaml::to_json(*storage) : Json(), environment));
    journal::ManifestSums const journals(root, std::nullopt);
    store->set_recorded_sums(
        [journals](std::string const& id, std::string const& run) { return journals.find(id, run); });
    if (trusted_owner) store->trust_owner(uuid, *trusted_owner);
    auto const manifest = store->load_manifest(uuid);
    if (manifest) {
        // The files of a bucket would have to be downloaded.
        if (store->has_shared_directory()) DET_TRY(store->fetch_and_verify(uuid));
        return manifest->sha256;
    }
    if (manifest.error().code != codes::no_such_checkpoint) return manifest.error();
    DET_TRY_ASSIGN(auto const elsewhere, find_checkpoint(root, uuid, environment, trusted_owner));
    return Error{codes::no_such_checkpoint,
                 fmt::format("checkpoint {} is in '{}', not in the checkpoint storage of this experiment",
                             uuid, elsewhere.address()),
                 "set checkpoint_storage to that of the experiment that saved it"};
}

Result<SourceCheckpoint> find_source(config::ExperimentConfig const& config, RootLayout const& root,
                                     Environment const& environment, std::optional<uid_t> trusted_owner) {
    auto const& searcher = config.searcher;
    auto uuid = searcher.source_checkpoint_uuid.value_or("");
    if (searcher.source_trial_id) {
        DET_TRY_ASSIGN(uuid, find_newest_of_trial(*searcher.source_trial_id, root, environment));
    }
    if (!is_uuid(uuid)) return Error{codes::bad_value, fmt::format("{}: '{}' is no UUID", uuid_key, uuid)};
    DET_TRY_ASSIGN(auto sum, check_source(config, uuid, root, environment, trusted_owner));
    return SourceCheckpoint{std::move(uuid), std::move(sum), trusted_owner};
}

}  // namespace

Result<std::optional<SourceCheckpoint>> find_source_checkpoint(config::ExperimentConfig const& config,
                                                               RootLayout const& root, Context& context,
                                                               std::optional<uid_t> trusted_owner) {
    auto const& searcher = config.searcher;
    if (!searcher.source_checkpoint_uuid && !searcher.source_trial_id)
        return std::optional<SourceCheckpoint>();
    auto source = find_source(config, root.for_reading(context.places), context.environment, trusted_owner);
    if (source) return std::optional(*std::move(source));
    auto error = std::move(source).error();
    if (!error.where) error.where = config.where(searcher.source_trial_id ? trial_key : uuid_key);
    return error;
}

}  // namespace det::experiment
