#include <det/checkpoint/storage/open_store.hpp>
#include <det/experiment/find_checkpoint.hpp>
#include <det/experiment/models.hpp>
#include <det/experiment/open_experiment.hpp>
#include <det/experiment/root_directory.hpp>
#include <det/foundation/files.hpp>
#include <det/journal/event_log.hpp>
#include <det/journal/manifest_sums.hpp>
#include <det/journal/pack_summary.hpp>
#include <det/journal/reader.hpp>
#include <det/protocol/json.hpp>
#include <det/retention/find_latest_valid.hpp>
#include <det/retention/list_checkpoints.hpp>
#include <det/tracker/history/journal_history.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <set>
#include <unistd.h>

namespace det::experiment {
namespace {

namespace fs = std::filesystem;

/// Copies all files and the manifest, with which the copy can be verified.
Status copy_all(checkpoint::Store const& store, std::string const& uuid, fs::path const& target) {
    DET_TRY_ASSIGN(auto const manifest, store.download(uuid, nullptr, target));
    return write_file(target / manifest_name, render_manifest(manifest));
}

Status move_entries(fs::path const& from, fs::path const& to) {
    DET_TRY_ASSIGN(auto const names, list_directory(from));
    for (auto const& name : names) {
        if (!path_exists(to / name)) continue;
        return Error{codes::name_taken, fmt::format("'{}' is there already", (to / name).string()),
                     "name another directory with --output-dir"};
    }
    for (auto const& name : names) {
        if (::rename((from / name).c_str(), (to / name).c_str()) != 0)
            return os_error(fmt::format("move '{}' to '{}'", (from / name).string(), to.string()), errno);
    }
    return Ok{};
}

/// Copies into a new directory below `target` first, so that `target` gets all files or none.
Status copy_into_existing(checkpoint::Store const& store, std::string const& uuid, fs::path const& target) {
    auto const copy = target / fmt::format(".new-{}-{}", uuid, ::getpid());
    DET_TRY_ASSIGN(bool const is_new, make_directory(copy));
    if (!is_new)
        return Error{codes::name_taken, fmt::format("'{}' is there already", copy.string()), "remove it"};
    auto copied = copy_all(store, uuid, copy);
    if (copied) copied = move_entries(copy, target);
    (void)remove_tree(copy);
    return copied;
}

/// Looks for a checkpoint in several stores. Opens each store once.
class StoreSearch {
public:
    StoreSearch(RootLayout const& root, std::string const& uuid, Environment const& environment,
                std::optional<uid_t> trusted_owner)
        : journals_(root, std::nullopt),
          uuid_(uuid),
          environment_(environment),
          trusted_owner_(trusted_owner) {}

    void look_in(ExperimentSpec const& spec) {
        if (found_ || !seen_.insert(checkpoint::storage::storage_identity(spec)).second) return;
        auto store = checkpoint::storage::open_store(spec, environment_);
        if (!store) return keep(store.error());
        (*store)->set_recorded_sums([journals = journals_](std::string const& uuid, std::string const& run) {
            return journals.find(uuid, run);
        });
        if (trusted_owner_) (*store)->trust_owner(uuid_, *trusted_owner_);
        auto manifest = (*store)->load_manifest(uuid_);
        if (!manifest) return keep(manifest.error());
        found_ = FoundCheckpoint{*std::move(store), *std::move(manifest)};
    }

    /// Returns the checkpoint. If no store has it, returns the first error of a store that failed, else
    /// codes::no_such_checkpoint.
    Result<FoundCheckpoint> result() && {
        if (found_) return *std::move(found_);
        if (first_error_) return *std::move(first_error_);
        return Error{codes::no_such_checkpoint, fmt::format("there is no checkpoint '{}'", uuid_),
                     "see 'det-submit experiment list-checkpoints ID'"};
    }

private:
    void keep(Error const& error) {
        if (error.code != codes::no_such_checkpoint && !first_error_) first_error_ = error;
    }

    journal::ManifestSums journals_;
    std::string const& uuid_;
    Environment const& environment_;
    std::optional<uid_t> trusted_owner_;
    std::set<std::string> seen_;
    std::optional<FoundCheckpoint> found_;
    std::optional<Error> first_error_;
};

/// Returns the trial that committed the checkpoint: "7.3" if the manifest names the run "7.3.2".
std::optional<TrialId> trial_of(CheckpointManifest const& manifest) {
    return parse_trial_id(manifest.run.substr(0, manifest.run.rfind('.')));
}

/// A function that records the new SHA-256 of a manifest in the events of the experiment that saved the
/// checkpoint, if the root has that experiment. The arguments must outlive it.
checkpoint::Store::OnChange recorder_of_change(RootLayout const& root, FoundCheckpoint const& checkpoint,
                                               Context& context) {
    auto const trial = trial_of(checkpoint.manifest);
    auto const directory = trial ? root.experiment(trial->experiment) : fs::path();
    return [directory, &checkpoint, &context](std::string const& sum) -> Status {
        ExperimentLayout const layout(directory);
        if (directory.empty()) return Ok{};
        DET_TRY(journal::require_not_packed(layout));
        if (!path_exists(layout.events())) return Ok{};
        return journal::append_event(
            layout.events(), Event{std::string(journal::checkpoint_changed_event), context.clock.now(),
                                   event_author(context.environment),
                                   Json{{"uuid", checkpoint.manifest.uuid}, {"manifest_sha256", sum}}});
    };
}

/// codes::wrong_state if the trial that saved it may still run and would resume from it.
Status check_not_needed(FoundCheckpoint const& checkpoint, Context& context) {
    auto const trial = trial_of(checkpoint.manifest);
    if (!trial) return Ok{};
    auto const experiment = open_experiment(to_string(trial->experiment), SlurmAnswer::optional, context);
    if (!experiment && experiment.error().code == codes::no_such_experiment) return Ok{};
    if (!experiment) return experiment.error();
    auto const& trials = experiment->view.trials;
    if (trial->index >= trials.size() || lifecycle::is_terminal(trials[trial->index].state)) return Ok{};
    DET_TRY_ASSIGN(auto const known,
                   retention::list_stored_checkpoints(experiment->layout, *experiment->view.record.spec,
                                                      *checkpoint.store));
    DET_TRY_ASSIGN(auto const latest, retention::find_latest_valid(known, trial->index, *checkpoint.store));
    if (latest != checkpoint.manifest.uuid) return Ok{};
    return Error{codes::wrong_state,
                 fmt::format("trial {} may still run, and checkpoint {} is what it resumes from",
                             to_string(*trial), checkpoint.manifest.uuid),
                 fmt::format("end it first with 'det-submit trial kill {}'", to_string(*trial))};
}

}  // namespace

Result<FoundCheckpoint> find_checkpoint(RootLayout const& root, std::string const& uuid,
                                        Environment const& environment, std::optional<uid_t> trusted_owner) {
    StoreSearch search(root, uuid, environment, trusted_owner);
    ExperimentSpec usual;
    usual.checkpoint_path = root.checkpoints();
    search.look_in(usual);
    DET_TRY_ASSIGN(auto const experiments, tracker::history::JournalHistory(root).list_experiments());
    for (auto const id : experiments) {
        if (auto const spec = journal::load_spec(ExperimentLayout(root, id))) search.look_in(*spec);
    }
    return std::move(search).result();
}

Status remove_files(RootLayout const& root, FoundCheckpoint const& checkpoint,
                    std::vector<std::string> const& paths, Context& context) {
    return checkpoint.store->remove_files(checkpoint.manifest.uuid, paths,
                                          recorder_of_change(root, checkpoint, context));
}

Status set_metadata(RootLayout const& root, FoundCheckpoint const& checkpoint, JsonValue metadata,
                    Context& context) {
    return checkpoint.store->set_metadata(checkpoint.manifest.uuid, std::move(metadata),
                                          recorder_of_change(root, checkpoint, context));
}

Result<std::vector<FoundCheckpoint>> require_removable(std::vector<std::string> const& uuids,
                                                       Context& context) {
    DET_TRY_ASSIGN(auto const root, find_root(context.environment));
    DET_TRY_ASSIGN(auto const models, load_models(context));
    std::vector<FoundCheckpoint> found;
    for (auto const& uuid : uuids) {
        DET_TRY(check_not_registered(models, uuid));
        DET_TRY_ASSIGN(auto checkpoint, find_checkpoint(root, uuid, context.environment));
        DET_TRY(check_not_needed(checkpoint, context));
        found.push_back(std::move(checkpoint));
    }
    return found;
}

std::vector<std::uint32_t> find_trials_without_checkpoint(ContinuedExperiment const& continued,
                                                          Environment const& environment) {
    auto const& record = continued.experiment.view.record;
    auto const store = checkpoint::storage::open_store(*record.spec, environment);
    if (!store) return {};
    auto const checkpoints =
        retention::list_stored_checkpoints(continued.experiment.layout, *record.spec, **store);
    if (!checkpoints) return {};
    std::vector<std::uint32_t> without;
    for (auto const trial : continued.trials) {
        bool const has_run = !record.trials.at(trial).runs.empty();
        if (has_run &&
            std::ranges::find(*checkpoints, trial, &retention::KnownCheckpoint::trial) == checkpoints->end())
            without.push_back(trial);
    }
    return without;
}

std::uint64_t total_size(CheckpointManifest const& manifest) {
    std::uint64_t sum = 0;
    for (auto const& file : manifest.files) sum += file.size_bytes;
    return sum;
}

Status copy_checkpoint(checkpoint::Store const& store, std::string const& uuid, fs::path const& target) {
    DET_TRY(store.load_manifest(uuid));
    if (target.has_parent_path()) DET_TRY(make_directories(target.parent_path()));
    DET_TRY_ASSIGN(bool const is_new, make_directory(target));
    if (!is_new) return copy_into_existing(store, uuid, target);
    auto copied = copy_all(store, uuid, target);
    if (!copied) (void)remove_tree(target);
    return copied;
}

}  // namespace det::experiment
