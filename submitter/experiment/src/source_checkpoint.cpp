#include <det/checkpoint/storage/open_store.hpp>
#include <det/experiment/find_checkpoint.hpp>
#include <det/experiment/source_checkpoint.hpp>
#include <det/foundation/uuid.hpp>
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
    DET_TRY_ASSIGN(auto const store, checkpoint::storage::open_store(*spec, environment));
    DET_TRY_ASSIGN(auto const known, retention::list_stored_checkpoints(experiment, *spec, *store));
    DET_TRY_ASSIGN(auto const newest, retention::find_latest_valid(known, trial->index, *store));
    if (newest) return *newest;
    return Error{codes::no_such_checkpoint, fmt::format("trial {} has no checkpoint", to_string(*trial)),
                 "see 'det-submit experiment list-checkpoints ID'"};
}

/// Fails if the checkpoint is not in the storage of the experiment, or if the storage is a directory and a
/// file of the checkpoint is damaged.
Status check_source(config::ExperimentConfig const& config, std::string const& uuid, RootLayout const& root,
                    Environment const& environment) {
    auto const* storage = config.effective.find("checkpoint_storage");
    DET_TRY_ASSIGN(auto const store, checkpoint::storage::open_store(
                                         storage != nullptr ? yaml::to_json(*storage) : Json(), environment));
    auto const manifest = store->load_manifest(uuid);
    if (manifest && !store->has_shared_directory()) return Ok{};  // its files would have to be downloaded
    if (manifest) {
        DET_TRY(store->fetch_and_verify(uuid));
        return Ok{};
    }
    if (manifest.error().code != codes::no_such_checkpoint) return manifest.error();
    DET_TRY_ASSIGN(auto const elsewhere, find_checkpoint(root, uuid, environment));
    return Error{codes::no_such_checkpoint,
                 fmt::format("checkpoint {} is in '{}', not in the checkpoint storage of this experiment",
                             uuid, elsewhere.address()),
                 "set checkpoint_storage to that of the experiment that saved it"};
}

Result<std::string> find_source(config::ExperimentConfig const& config, RootLayout const& root,
                                Environment const& environment) {
    auto const& searcher = config.searcher;
    auto uuid = searcher.source_checkpoint_uuid.value_or("");
    if (searcher.source_trial_id) {
        DET_TRY_ASSIGN(uuid, find_newest_of_trial(*searcher.source_trial_id, root, environment));
    }
    if (!is_uuid(uuid)) return Error{codes::bad_value, fmt::format("{}: '{}' is no UUID", uuid_key, uuid)};
    DET_TRY(check_source(config, uuid, root, environment));
    return uuid;
}

}  // namespace

Result<std::optional<std::string>> find_source_checkpoint(config::ExperimentConfig const& config,
                                                          RootLayout const& root, Context& context) {
    auto const& searcher = config.searcher;
    if (!searcher.source_checkpoint_uuid && !searcher.source_trial_id) return std::optional<std::string>();
    auto uuid = find_source(config, root, context.environment);
    if (uuid) return std::optional(*std::move(uuid));
    auto error = std::move(uuid).error();
    if (!error.where) error.where = config.where(searcher.source_trial_id ? trial_key : uuid_key);
    return error;
}

}  // namespace det::experiment
