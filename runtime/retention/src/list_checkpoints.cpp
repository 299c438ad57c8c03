#include <det/checkpoint/run_checkpoints.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/list_numeric_names.hpp>
#include <det/foundation/text.hpp>
#include <det/journal/best_validation.hpp>
#include <det/journal/reader.hpp>
#include <det/protocol/json.hpp>
#include <det/retention/list_checkpoints.hpp>

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <set>

namespace det::retention {
namespace {

/// Asks the store for the manifests of checkpoints: which of their files are there, and their metadata, which
/// a user may have changed. After the store has not answered once, it is not asked again.
class ManifestCheck {
public:
    explicit ManifestCheck(checkpoint::Store const* store) : store_(store) {}

    Presence check(CheckpointCommitted& committed) {
        if (store_ == nullptr) return Presence::unknown;
        auto const manifest = store_->load_manifest(committed.uuid);
        if (manifest) {
            committed.metadata = manifest->metadata;
            auto const stored = resources_of(*manifest);
            for (auto const& [path, size] : committed.resources->items()) {
                if (!stored.contains(path)) return Presence::part;
            }
            return Presence::whole;
        }
        auto const& code = manifest.error().code;
        if (code == codes::no_such_checkpoint) return Presence::none;
        if (!checkpoint::is_unusable(manifest.error())) {
            store_ = nullptr;
            failure_ = manifest.error();
        }
        return Presence::unknown;
    }
    /// Fails if the store has not answered.
    Status status() const { return failure_ ? Status(*failure_) : Ok{}; }

private:
    checkpoint::Store const* store_;
    std::optional<Error> failure_;
};

using Validations = std::map<std::uint64_t, double>;  // by step; as in Determined, the first one counts

Result<Validations> load_validations(TrialLayout const& trial, std::string const& metric) {
    DET_TRY_ASSIGN(auto const values, journal::load_validations(trial, 0, metric));
    Validations validations;
    for (auto const& [steps, value] : values) {
        if (std::isfinite(value)) validations.emplace(steps, value);
    }
    return validations;
}

std::vector<CheckpointCommitted> committed_in(std::vector<Record> const& records) {
    std::vector<CheckpointCommitted> committed_checkpoints;
    for (auto const& record : records) {
        if (auto const* committed = std::get_if<CheckpointCommitted>(&record))
            committed_checkpoints.push_back(*committed);
    }
    return committed_checkpoints;
}

Result<std::vector<CommittedCheckpoint>> list_of_trial(TrialLayout const& trial, std::uint32_t index,
                                                       std::string const& metric,
                                                       checkpoint::Store const* store) {
    std::vector<CommittedCheckpoint> checkpoints;
    DET_TRY_ASSIGN(auto const runs, list_numeric_names(trial.runs()));
    for (auto const run : runs) {
        DET_TRY_ASSIGN(auto const journal, journal::load_journal(trial.run(run).chief_journal()));
        auto of_run = store != nullptr ? checkpoint::checkpoints_of_run(journal.records, *store)
                                       : Result(committed_in(journal.records));
        if (!of_run) return std::move(of_run).error();
        for (auto& committed : *of_run)
            checkpoints.push_back({index, run, std::move(committed), {}, Presence::unknown});
    }
    DET_TRY_ASSIGN(auto const validations, load_validations(trial, metric));
    for (auto& checkpoint : checkpoints) {
        auto const found = validations.find(checkpoint.committed.steps_completed);
        if (found != validations.end()) checkpoint.metric = found->second;
    }
    return checkpoints;
}

/// UUIDs of the checkpoints that a run has begun and not committed.
Result<std::set<std::string>> list_uncommitted(RunLayout const& run) {
    DET_TRY_ASSIGN(auto const journal, journal::load_journal(run.chief_journal()));
    std::set<std::string> uuids;
    for (auto const& record : journal.records) {
        if (auto const* begun = std::get_if<CheckpointBegun>(&record)) uuids.insert(begun->uuid);
        if (auto const* committed = std::get_if<CheckpointCommitted>(&record)) uuids.erase(committed->uuid);
    }
    return uuids;
}

Status add_of_trial(TrialLayout const& layout, std::uint32_t trial, bool is_over,
                    std::vector<UncommittedCheckpoint>& candidates) {
    DET_TRY_ASSIGN(auto runs, list_numeric_names(layout.runs()));
    if (!is_over && !runs.empty()) runs.pop_back();
    for (auto const run : runs) {
        DET_TRY_ASSIGN(auto const uuids, list_uncommitted(layout.run(run)));
        for (auto const& uuid : uuids) candidates.push_back({uuid, trial, run});
    }
    return Ok{};
}

Result<std::vector<CommittedCheckpoint>> list_checked(ExperimentLayout const& experiment,
                                                      ExperimentSpec const& spec,
                                                      checkpoint::Store const* store,
                                                      ManifestCheck& manifests) {
    std::vector<CommittedCheckpoint> all;
    DET_TRY_ASSIGN(auto const trials, list_numeric_names(experiment.trials()));
    for (auto const index : trials) {
        DET_TRY_ASSIGN(auto own, list_of_trial(experiment.trial(index), index, spec.searcher.metric, store));
        for (auto& checkpoint : own) {
            checkpoint.presence = manifests.check(checkpoint.committed);
            all.push_back(std::move(checkpoint));
        }
    }
    return all;
}

}  // namespace

std::uint64_t size_bytes_of(CheckpointCommitted const& committed) {
    std::uint64_t sum = 0;
    for (auto const& [path, size] : committed.resources->items())
        sum += size.is_number_unsigned() ? size.get<std::uint64_t>() : 0;
    return sum;
}

Result<std::vector<CommittedCheckpoint>> list_committed(ExperimentLayout const& experiment,
                                                        ExperimentSpec const& spec,
                                                        checkpoint::Store const* store) {
    ManifestCheck manifests(store);
    return list_checked(experiment, spec, store, manifests);
}

Result<std::vector<KnownCheckpoint>> list_stored_checkpoints(ExperimentLayout const& experiment,
                                                             ExperimentSpec const& spec,
                                                             checkpoint::Store const& store) {
    ManifestCheck manifests(&store);
    DET_TRY_ASSIGN(auto const all, list_checked(experiment, spec, &store, manifests));
    DET_TRY(manifests.status());
    std::vector<KnownCheckpoint> known;
    for (auto const& [trial, run, committed, metric, presence] : all) {
        if (presence == Presence::none) continue;
        known.push_back({committed.uuid, trial, committed.steps_completed, metric, size_bytes_of(committed)});
    }
    return known;
}

Result<std::set<std::string>> list_source_checkpoints(RootLayout const& root) {
    std::set<std::string> uuids;
    DET_TRY_ASSIGN(auto const experiments, list_numeric_names(root.experiments()));
    for (auto const id : experiments) {
        auto const spec = journal::load_spec(ExperimentLayout(root, {id}));
        if (!spec && spec.error().code == codes::no_such_file) continue;  // the experiment is being created
        if (!spec) return spec.error();
        if (spec->source_checkpoint) uuids.insert(*spec->source_checkpoint);
        auto const searcher =
            spec->config->is_object() ? spec->config->value("searcher", Json::object()) : Json();
        auto const source = searcher.is_object() ? searcher.value("source_checkpoint_uuid", Json()) : Json();
        if (source.is_string()) uuids.insert(source.get<std::string>());
    }
    return uuids;
}

Result<std::vector<UncommittedCheckpoint>> find_uncommitted(
    ExperimentLayout const& experiment, checkpoint::Store const& store,
    std::function<bool(std::uint32_t trial)> const& is_over) {
    std::vector<UncommittedCheckpoint> uncommitted;
    DET_TRY_ASSIGN(auto const trials, list_numeric_names(experiment.trials()));
    for (auto const trial : trials)
        DET_TRY(add_of_trial(experiment.trial(trial), trial, is_over(trial), uncommitted));
    if (uncommitted.empty()) return uncommitted;
    DET_TRY_ASSIGN(auto const listed, store.list());
    std::set<std::string> const stored(listed.begin(), listed.end());
    std::erase_if(uncommitted, [&](auto const& each) {
        if (!stored.contains(each.uuid)) return true;
        // A checkpoint with a manifest is committed, although its run ended before it reported that.
        auto const found = store.load_manifest(each.uuid);
        return found || found.error().code != codes::no_such_checkpoint;
    });
    return uncommitted;
}

}  // namespace det::retention
