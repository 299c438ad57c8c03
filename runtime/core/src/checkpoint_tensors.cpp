// Checkpoints that consist of tensors.
#include <det/checkpoint/error_exchange.hpp>
#include <det/checkpoint/run_checkpoints.hpp>
#include <det/checkpoint/saver.hpp>
#include <det/core/checkpoint.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/reversed.hpp>
#include <det/foundation/text.hpp>
#include <det/journal/reader.hpp>
#include <det/protocol/directory_layout.hpp>
#include <det/protocol/json.hpp>

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>

#include "checkpoint_parts.hpp"
#include "context_data.hpp"

namespace det::core {
namespace {

checkpoint::SaverOptions saver_options(ContextData& data) {
    auto options = checkpoint::options_for_cores(cores_per_rank(data));
    options.on_warning = data.warn;
    options.may_commit = [&data]() -> Status {
        // The record that announces the checkpoint is written first. Commits are repeated, so this is not.
        if (data.reporter) DET_TRY(data.reporter->flush_once());
        return data.require_newest();
    };
    return options;
}

/// Reads the journals of all runs of the trial. The checkpoints of a run with a damaged journal are those in
/// the store.
///
/// \param run the directory of one of its runs
/// \return the UUIDs of the committed checkpoints, newest first
Result<std::vector<std::string>> list_past_checkpoints(std::filesystem::path const& run, TrialId id,
                                                       checkpoint::Store const& store) {
    TrialLayout const trial(run.parent_path().parent_path());
    DET_TRY_ASSIGN(auto const names, list_directory(trial.runs()));
    std::vector<std::uint32_t> runs;
    for (auto const& name : names) {
        if (auto const number = parse_integer<std::uint32_t>(name)) runs.push_back(*number);
    }
    std::ranges::sort(runs, std::ranges::greater{});
    std::vector<std::string> newest_first;
    for (auto const number : runs) {
        DET_TRY_ASSIGN(auto const journal, journal::salvage_journal(trial.run(number).chief_journal()));
        auto const checkpoints =
            journal.damage.empty()
                ? checkpoint::checkpoints_of_run(journal.records, store)
                : checkpoint::stored_checkpoints_of_run(to_string(RunId{id, number}), store);
        if (!checkpoints) return checkpoints.error();
        for (auto const& committed : reversed(*checkpoints)) newest_first.push_back(committed.uuid);
    }
    return newest_first;
}

/// Reads the manifests of a storage.
/// \return the UUIDs of the checkpoints that programs outside of experiments have committed, newest first
Result<std::vector<std::string>> list_checkpoints_outside(checkpoint::Store const& store) {
    DET_TRY_ASSIGN(auto const uuids, store.list());
    std::vector<CheckpointManifest> committed;
    for (auto const& uuid : uuids) {
        // A manifest that can't be read is that of no checkpoint, or of a damaged one.
        auto manifest = store.load_manifest(uuid);
        if (manifest && manifest->run.empty()) committed.push_back(*std::move(manifest));
    }
    std::ranges::sort(committed, std::ranges::greater{}, [](CheckpointManifest const& manifest) {
        return std::tuple(manifest.time.microseconds, manifest.steps_completed);
    });
    std::vector<std::string> newest_first;
    for (auto& manifest : committed) newest_first.push_back(std::move(manifest.uuid));
    return newest_first;
}

/// Returns the checkpoints that Checkpoint::load() may load, newest first.
Result<std::vector<std::string>> list_loadable(ContextData const& data,
                                               std::optional<std::string> const& latest) {
    // Without the records that wait in memory, older checkpoints of this run are still found.
    if (data.reporter) static_cast<void>(data.reporter->flush_once());
    auto past = data.in_experiment()
                    ? list_past_checkpoints(data.info->run_path, data.info->trial->trial, *data.store)
                    : list_checkpoints_outside(*data.store);
    // If a journal can't be read, only `latest` is tried.
    if (!past && !data.in_experiment()) return std::move(past).error();
    std::vector<std::string> newest_first;
    if (latest) newest_first.push_back(*latest);
    for (auto const& uuid : past.value_or(std::vector<std::string>())) {
        if (std::ranges::find(newest_first, uuid) == newest_first.end()) newest_first.push_back(uuid);
    }
    return newest_first;
}

}  // namespace

Checkpoint::Tensors::Tensors(ContextData& data)
    : peers(data.distributed), saver(peers, *data.store, saver_options(data)) {}

Checkpoint::Checkpoint(ContextData& data) : data_(data) {}
Checkpoint::~Checkpoint() = default;

Checkpoint::Tensors& Checkpoint::tensors() {
    if (!tensors_) tensors_ = std::make_unique<Tensors>(data_);
    tensors_->saver.use_devices(
        data_.distributed.device_copies());  // Context::add_devices may add them later
    return *tensors_;
}

void Checkpoint::wait_snapshot() {
    if (!tensors_) return;
    auto const begin = data_.clock.steady_now();
    tensors_->saver.wait_snapshot();
    auto const save = tensors_->in_flight.find(tensors_->last);
    if (save != tensors_->in_flight.end()) save->second.blocked += data_.clock.steady_now() - begin;
}

Status Checkpoint::report(Outcomes const& outcomes, Duration blocked) {
    for (auto const& outcome : outcomes) {
        auto const save = tensors_->in_flight.extract(outcome.uuid);
        if (save && !outcome.error) measure(save.mapped().begun);
        if (!outcome.manifest) continue;
        DET_TRY(
            report_in_background(*outcome.manifest, blocked + (save ? save.mapped().blocked : Duration())));
        blocked = {};  // counted for the first outcome only
    }
    return Ok{};
}

Status Checkpoint::prepare(checkpoint::State const& state) { return tensors().saver.prepare(state); }

Result<checkpoint::SaveStarted> Checkpoint::save(std::uint64_t steps_completed, nlohmann::json metadata,
                                                 checkpoint::State const& state,
                                                 std::filesystem::path const& directory) {
    return begin_save(steps_completed, std::move(metadata), state, directory,
                      checkpoint::TrainingAfterSave::continues);
}

Result<checkpoint::SaveStarted> Checkpoint::begin_save(std::uint64_t steps_completed, nlohmann::json metadata,
                                                       checkpoint::State const& state,
                                                       std::filesystem::path const& directory,
                                                       checkpoint::TrainingAfterSave after) {
    // The saver refuses metadata that is not an object, on all ranks.
    if (metadata.is_object()) metadata["steps_completed"] = steps_completed;
    auto const begin = data_.clock.steady_now();
    DET_TRY_ASSIGN(auto begun, tensors().saver.save({data_.run_name(), steps_completed, data_.clock.now(),
                                                     std::move(metadata), directory},
                                                    state, after));
    tensors().in_flight[begun.uuid] = {begin, data_.clock.steady_now() - begin};
    tensors().last = begun.uuid;
    DET_TRY(announce_in_background(begun.uuid, steps_completed));
    DET_TRY(report(begun.ended));
    return begun;
}

Result<Checkpoint::Outcomes> Checkpoint::save_before_preemption(std::uint64_t steps_completed,
                                                                nlohmann::json metadata,
                                                                checkpoint::State const& state,
                                                                std::filesystem::path const& directory) {
    DET_TRY_ASSIGN(bool const saves, has_time_to_save());
    Outcomes all;
    if (saves) {
        DET_TRY_ASSIGN(auto begun, begin_save(steps_completed, std::move(metadata), state, directory,
                                              checkpoint::TrainingAfterSave::ends));
        all = std::move(begun.ended);
    }
    DET_TRY_ASSIGN(auto ended, finish());
    std::ranges::move(ended, std::back_inserter(all));
    return all;
}

Result<Checkpoint::Outcomes> Checkpoint::poll() {
    if (!tensors_) return Outcomes();
    DET_TRY_ASSIGN(auto ended, tensors().saver.poll());
    DET_TRY(report(ended));
    return ended;
}

Result<Checkpoint::Outcomes> Checkpoint::finish() {
    if (!tensors_) return Outcomes();
    auto const begin = data_.clock.steady_now();
    DET_TRY_ASSIGN(auto ended, tensors().saver.finish());
    DET_TRY(report(ended, data_.clock.steady_now() - begin));
    if (data_.reporter) DET_TRY(data_.reporter->flush());
    return ended;
}

Result<std::optional<checkpoint::Loaded>> Checkpoint::load(checkpoint::State const& state,
                                                           checkpoint::OnDamage on_damage) {
    wait_snapshot();
    DET_TRY_ASSIGN(auto from_memory, load_from_memory(state));
    if (from_memory) return from_memory;
    auto newest_first =
        data_.distributed.is_chief() ? list_loadable(data_, latest()) : Result(std::vector<std::string>());
    DET_TRY(checkpoint::agree_on_status(tensors().peers,
                                        newest_first ? Status(Ok{}) : Status(newest_first.error())));
    auto loaded = checkpoint::load(
        tensors().peers, *data_.store, *newest_first, state, on_damage,
        {.devices = data_.distributed.device_copies(), .spare_memory = tensors().saver.spare_memory()});
    if (data_.distributed.is_chief()) report_unusable(*newest_first, loaded);
    return loaded;
}

Result<Checkpoint::Loaded> Checkpoint::load_from(std::string const& uuid, checkpoint::State const& state) {
    wait_snapshot();
    if (memory() != nullptr && checkpoint::is_memory_snapshot_name(uuid)) {
        DET_TRY_ASSIGN(auto found, load_named_from_memory(uuid, state));
        return Loaded{std::move(found.manifest), true};
    }
    auto loaded = checkpoint::load(
        tensors().peers, *data_.store, {uuid}, state, checkpoint::OnDamage::fail,
        {.devices = data_.distributed.device_copies(), .spare_memory = tensors().saver.spare_memory()});
    if (data_.distributed.is_chief()) report_unusable({uuid}, loaded);
    if (!loaded) return std::move(loaded).error();
    // A checkpoint of another trial may be loaded besides, for a part of the model.
    bool const is_of_trial = data_.in_experiment() &&
                             (*loaded)->manifest.run.starts_with(to_string(data_.info->trial->trial) + ".");
    if (is_of_trial) forget_continued();
    auto const is_own = data_.store->is_own((*loaded)->manifest);
    DET_TRY(checkpoint::agree_on_status(tensors().peers, is_own ? Status(Ok{}) : Status(is_own.error())));
    return Loaded{std::move((*loaded)->manifest), *is_own};
}

Result<std::vector<std::string>> Checkpoint::loadable() const {
    DET_TRY_ASSIGN(auto const in_storage, list_loadable(data_, latest()));
    std::vector<std::string> all;
    auto const* const kept = memory();
    if (kept != nullptr && !has_saved_ && !kept->has_kept) all = kept->snapshots.list(kept->first_steps);
    all.insert(all.end(), in_storage.begin(), in_storage.end());
    return all;
}

/// Reports the checkpoints of a list that load() could not use.
void Checkpoint::report_unusable(std::vector<std::string> const& newest_first,
                                 Result<std::optional<checkpoint::Loaded>> const& loaded) const {
    if (newest_first.empty()) return;
    if (!loaded) {
        static_cast<void>(report_unusable(newest_first.front(), loaded.error()));
        return;
    }
    if (!*loaded) return;
    auto const& passed_over = (*loaded)->passed_over;
    for (std::size_t i = 0; i < passed_over.size(); ++i)
        static_cast<void>(report_unusable(newest_first[i], passed_over[i]));
}

}  // namespace det::core
