#include <det/checkpoint/error_exchange.hpp>
#include <det/core/checkpoint.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/uuid.hpp>
#include <det/preemption/final_save.hpp>
#include <det/protocol/directory_layout.hpp>
#include <det/protocol/json.hpp>
#include <det/protocol/steps_completed.hpp>

#include <fmt/format.h>

#include "checkpoint_parts.hpp"
#include "context_data.hpp"

namespace det::core {
Result<Checkpoint::Draft> Checkpoint::begin(std::uint64_t steps_completed, nlohmann::json metadata) {
    DET_TRY(require_chief(data_, "checkpoint.store"));
    if (!metadata.is_object()) return Error{codes::misuse, "a checkpoint's metadata is a map"};
    DET_TRY(check_steps_completed(steps_completed));
    metadata["steps_completed"] = steps_completed;
    auto const uuid = make_uuid();
    DET_TRY(announce(uuid, steps_completed));
    DET_TRY_ASSIGN(auto directory, repeat_write(data_.clock, data_.store->write_retry(),
                                                [&] { return data_.store->create_directory(uuid); }));
    return Draft{uuid, std::move(directory), steps_completed, std::move(metadata), data_.clock.steady_now()};
}

Status Checkpoint::commit(Draft const& draft) {
    DET_TRY_ASSIGN(auto const manifest,
                   data_.store->commit({draft.uuid, data_.run_name(), draft.steps_completed,
                                        data_.clock.now(), data_.distributed.size(), draft.metadata},
                                       [this] { return data_.require_newest(); }));
    return report(manifest, measure(draft.begun));
}

Status Checkpoint::discard(Draft const& draft) {
    auto const manifest = data_.store->load_manifest(draft.uuid);
    if (manifest) return Ok{};
    if (manifest.error().code != codes::no_such_checkpoint) return manifest.error();
    return data_.store->remove(draft.uuid);
}

Result<std::string> Checkpoint::store(std::uint64_t steps_completed, nlohmann::json metadata,
                                      Write const& write) {
    DET_TRY_ASSIGN(auto const draft, begin(steps_completed, std::move(metadata)));
    if (auto written = write(draft.directory); !written) {
        (void)discard(draft);  // the first error counts
        return std::move(written).error();
    }
    DET_TRY(commit(draft));
    return draft.uuid;
}

Result<bool> Checkpoint::store_before_preemption(std::uint64_t steps_completed, nlohmann::json metadata,
                                                 Write const& write) {
    DET_TRY_ASSIGN(bool const stores, has_time_to_save());
    if (!stores) return false;
    auto const own = [&]() -> Status {
        if (!data_.distributed.is_chief()) return Ok{};
        DET_TRY(store(steps_completed, std::move(metadata), write));
        return Ok{};
    }();
    CollectivePeers peers(data_.distributed);
    DET_TRY(checkpoint::agree_on_status(peers, own));
    return true;
}

Result<std::string> Checkpoint::begin_upload(std::uint64_t steps_completed) {
    auto& distributed = data_.distributed;
    auto const own = [&]() -> Result<std::string> {
        if (!distributed.is_chief()) return std::string();
        DET_TRY(check_steps_completed(steps_completed));
        auto uuid = make_uuid();
        DET_TRY(announce(uuid, steps_completed));
        return uuid;
    }();
    DET_TRY_ASSIGN(auto const told, distributed.broadcast(checkpoint::encode_result(own)));
    return checkpoint::decode_result(told);
}

Status Checkpoint::upload_as(std::string const& uuid, std::uint64_t steps_completed,
                             checkpoint::Upload const& upload) {
    auto& distributed = data_.distributed;
    CollectivePeers peers(distributed);
    auto const begun = data_.clock.steady_now();
    DET_TRY_ASSIGN(auto const manifest,
                   checkpoint::upload_sharded(peers, *data_.store, upload,
                                              {uuid, data_.run_name(), steps_completed, data_.clock.now(),
                                               distributed.size(), Json::object()},
                                              [this] { return data_.require_newest(); }));
    if (!manifest) return Ok{};
    return report(*manifest, measure(begun));
}

Result<std::string> Checkpoint::upload(std::uint64_t steps_completed, checkpoint::Upload upload) {
    if (upload.metadata->is_object()) (*upload.metadata)["steps_completed"] = steps_completed;
    DET_TRY_ASSIGN(auto uuid, begin_upload(steps_completed));
    DET_TRY(upload_as(uuid, steps_completed, upload));
    return uuid;
}

Result<Checkpoint::Draft> Checkpoint::begin_sharded(std::uint64_t steps_completed, nlohmann::json metadata) {
    if (metadata.is_object()) metadata["steps_completed"] = steps_completed;
    DET_TRY_ASSIGN(auto const uuid, begin_upload(steps_completed));
    auto directory = repeat_write(data_.clock, data_.store->write_retry(),
                                  [&] { return data_.store->create_directory(uuid); });
    CollectivePeers peers(data_.distributed);
    DET_TRY(checkpoint::agree_on_status(peers, directory ? Status(Ok{}) : Status(directory.error())));
    return Draft{uuid, *std::move(directory), steps_completed, std::move(metadata), data_.clock.steady_now()};
}

Status Checkpoint::commit_sharded(Draft const& draft) {
    checkpoint::Upload upload;
    upload.directory = draft.directory;
    upload.metadata = draft.metadata;
    return upload_as(draft.uuid, draft.steps_completed, upload);
}

Status Checkpoint::give_up_sharded(Draft const& draft, Error reason) {
    checkpoint::Upload upload;
    upload.trouble = std::move(reason);
    return upload_as(draft.uuid, draft.steps_completed, upload);
}

Result<std::string> Checkpoint::store_sharded(std::uint64_t steps_completed, nlohmann::json metadata,
                                              Write const& write) {
    DET_TRY_ASSIGN(auto const draft, begin_sharded(steps_completed, std::move(metadata)));
    auto written = write(draft.directory);
    DET_TRY(written ? commit_sharded(draft) : give_up_sharded(draft, std::move(written).error()));
    return draft.uuid;
}

/// Records that a checkpoint begins. With this record a later run finds a checkpoint that was committed and
/// not reported, and garbage collection finds the files of one that was not committed. The record is not
/// synced, because training would wait for that; it survives a crash of this process.
Status Checkpoint::announce(std::string const& uuid, std::uint64_t steps_completed) {
    has_saved_ = true;
    DET_TRY(data_.note_steps(steps_completed));
    if (!data_.reporter) return Ok{};
    return data_.reporter->append(CheckpointBegun{data_.clock.now(), uuid, steps_completed});
}

/// As announce(), without waiting for the journal. The checkpoint is not committed before the record is
/// written: see saver_options().
Status Checkpoint::announce_in_background(std::string const& uuid, std::uint64_t steps_completed) {
    has_saved_ = true;
    DET_TRY(data_.note_steps(steps_completed));
    if (!data_.reporter) return Ok{};
    return data_.reporter->append_in_background(CheckpointBegun{data_.clock.now(), uuid, steps_completed});
}

CheckpointCommitted Checkpoint::make_record(CheckpointManifest const& manifest, Duration blocked) const {
    return {data_.clock.now(),      manifest.uuid,     manifest.steps_completed,
            resources_of(manifest), manifest.metadata, std::chrono::duration<double>(blocked).count(),
            manifest.sha256};
}

Status Checkpoint::report(CheckpointManifest const& manifest, Duration blocked) {
    if (!data_.reporter) return Ok{};
    return data_.reporter->append(make_record(manifest, blocked), Durability::power_loss);
}

Status Checkpoint::report_in_background(CheckpointManifest const& manifest, Duration blocked) {
    if (!data_.reporter) return Ok{};
    return data_.reporter->append_in_background(make_record(manifest, blocked), Durability::power_loss);
}

Checkpoint::Duration Checkpoint::measure(std::chrono::steady_clock::time_point begun) {
    auto const passed = data_.clock.steady_now() - begun;
    cost_ = std::chrono::duration_cast<std::chrono::microseconds>(passed);
    return passed;
}

Result<bool> Checkpoint::has_time_to_save() {
    std::optional<std::chrono::microseconds> left;
    if (auto const end = data_.killed_at())
        left = std::chrono::duration_cast<std::chrono::microseconds>(*end - data_.clock.steady_now());
    bool const has_time = preemption::choose_final_save(left, cost_) == preemption::FinalSave::save_new;
    DET_TRY_ASSIGN(auto const told, data_.distributed.broadcast(has_time ? "yes" : "no"));
    return told == "yes";
}

std::optional<std::string> Checkpoint::latest() const {
    return data_.info ? data_.info->cluster.latest_checkpoint : std::nullopt;
}

Result<std::filesystem::path> Checkpoint::restore_path(std::string const& uuid) const {
    auto whole = data_.store->fetch_and_verify(uuid);
    if (!whole) return report_unusable(uuid, std::move(whole).error());
    return std::move(whole->directory);
}

Result<std::optional<std::filesystem::path>> Checkpoint::find_directory(std::string const& uuid) const {
    std::optional<std::filesystem::path> directory;
    if (!data_.store->has_shared_directory()) return directory;
    DET_TRY_ASSIGN(auto const manifest, load_manifest(uuid));
    auto found = data_.store->fetch(manifest, [](std::string const&) { return true; });
    if (!found) return report_unusable(uuid, std::move(found).error());
    directory = *std::move(found);
    return directory;
}

Status Checkpoint::download(std::string const& uuid, std::filesystem::path const& directory,
                            checkpoint::Selector const& selector) const {
    auto downloaded = data_.store->download(uuid, selector, directory);
    if (!downloaded) return report_unusable(uuid, std::move(downloaded).error());
    return Ok{};
}

Status Checkpoint::remove(std::string const& uuid) { return data_.store->remove(uuid); }

Result<CheckpointManifest> Checkpoint::load_manifest(std::string const& uuid) const {
    if (checkpoint::is_memory_snapshot_name(uuid)) {
        if (auto const* const kept = memory()) return kept->snapshots.load_manifest(uuid);
    }
    auto manifest = data_.store->load_manifest(uuid);
    if (!manifest) return report_unusable(uuid, std::move(manifest).error());
    return manifest;
}

/// Tells the supervisor that a checkpoint must not be used, so that the next run continues from an older one
/// if the program fails now. Returns the error.
Error Checkpoint::report_unusable(std::string const& uuid, Error error) const {
    if (!data_.in_experiment() || !checkpoint::is_unusable(error)) return error;
    auto const path = RunLayout(data_.info->run_path).damaged_checkpoint(uuid);
    auto const reported = write_new_file(path, error.message + "\n");
    if (!reported && data_.warn)
        data_.warn(fmt::format("the supervisor does not learn that checkpoint {} is damaged: {}", uuid,
                               reported.error().message));
    return error;
}

}  // namespace det::core
