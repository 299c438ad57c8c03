#include <det/checkpoint/error_exchange.hpp>
#include <det/checkpoint/saver.hpp>
#include <det/core/checkpoint.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>
#include <det/foundation/uuid.hpp>
#include <det/preemption/final_save.hpp>
#include <det/protocol/json.hpp>

#include <fmt/format.h>
#include <map>
#include <sched.h>

#include "collective_peers.hpp"
#include "past_checkpoints.hpp"
#include "session.hpp"

namespace det::core {
namespace {

/// Fencing: a run must not commit after a newer incarnation of its job has begun a run with a higher number.
Status still_ours(Session const& session) {
    if (!session.in_experiment()) return Ok{};
    DET_TRY_ASSIGN(auto const runs, list_directory(session.info->run_path.parent_path()));
    for (auto const& name : runs) {
        auto const number = parse_integer<std::uint32_t>(name);
        if (number && *number > session.info->trial->trial_run_id) {
            return Error{codes::superseded, fmt::format("run {} of this trial has begun elsewhere", *number)};
        }
    }
    return Ok{};
}

std::string run_name(Session const& session) {
    return session.in_experiment() ? session.info->cluster.allocation_id : "";
}

int cores_per_rank(Session const& session) {
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0) return 1;
    return CPU_COUNT(&allowed) / session.distributed.local_size();
}

checkpoint::SaverOptions saver_options(Session& session) {
    auto options = checkpoint::options_for_cores(cores_per_rank(session));
    options.devices = session.distributed.device_copies();
    options.on_warning = session.warn;
    options.may_commit = [&session] { return still_ours(session); };
    return options;
}

}  // namespace

struct Checkpoint::Tensors {
    explicit Tensors(Session& session)
        : peers(session.distributed), saver(peers, *session.store, saver_options(session)) {}

    CollectivePeers peers;
    checkpoint::Saver saver;
    std::map<std::string, std::chrono::steady_clock::time_point> begun;  // of saves in flight, by UUID
};

Checkpoint::Checkpoint(Session& session) : session_(session) {}
Checkpoint::~Checkpoint() = default;

Checkpoint::Tensors& Checkpoint::tensors() {
    if (!tensors_) tensors_ = std::make_unique<Tensors>(session_);
    return *tensors_;
}

Result<Checkpoint::Draft> Checkpoint::begin(std::uint64_t steps_completed, nlohmann::json metadata) {
    DET_TRY(require_chief(session_, "checkpoint.store"));
    if (!metadata.is_object()) return Error{codes::misuse, "a checkpoint's metadata is a map"};
    metadata["steps_completed"] = steps_completed;
    auto const uuid = make_uuid();
    DET_TRY(announce(uuid, steps_completed));
    DET_TRY_ASSIGN(auto directory, session_.store->open(uuid));
    return Draft{uuid, std::move(directory), steps_completed, std::move(metadata),
                 session_.clock.steady_now()};
}

Status Checkpoint::commit(Draft const& draft) {
    DET_TRY_ASSIGN(auto const manifest,
                   session_.store->commit({draft.uuid, run_name(session_), draft.steps_completed,
                                           session_.clock.now(), session_.distributed.size(), draft.metadata},
                                          [this] { return still_ours(session_); }));
    measure(draft.begun);
    return report(manifest);
}

Status Checkpoint::discard(Draft const& draft) { return session_.store->remove(draft.uuid); }

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

Result<bool> Checkpoint::store_last(std::uint64_t steps_completed, nlohmann::json metadata,
                                    Write const& write) {
    DET_TRY_ASSIGN(bool const stores, has_time_to_save());
    if (!stores) return false;
    auto const own = [&]() -> Status {
        if (!session_.distributed.is_chief()) return Ok{};
        DET_TRY(store(steps_completed, std::move(metadata), write));
        return Ok{};
    }();
    CollectivePeers peers(session_.distributed);
    DET_TRY(checkpoint::share_status(peers, own));
    return true;
}

Result<std::string> Checkpoint::upload_as(std::string const& uuid, std::uint64_t steps_completed,
                                          checkpoint::Upload const& upload) {
    auto& distributed = session_.distributed;
    CollectivePeers peers(distributed);
    DET_TRY(announce(uuid, steps_completed));
    auto const begun = session_.clock.steady_now();
    DET_TRY_ASSIGN(auto const manifest,
                   checkpoint::upload_sharded(peers, *session_.store, upload,
                                              {uuid, run_name(session_), steps_completed,
                                               session_.clock.now(), distributed.size(), Json::object()},
                                              [this] { return still_ours(session_); }));
    if (!manifest) return uuid;
    measure(begun);
    DET_TRY(report(*manifest));
    return uuid;
}

Result<std::string> Checkpoint::upload(std::uint64_t steps_completed, checkpoint::Upload upload) {
    if (upload.metadata->is_object()) (*upload.metadata)["steps_completed"] = steps_completed;
    auto& distributed = session_.distributed;
    DET_TRY_ASSIGN(auto const uuid, distributed.broadcast(distributed.is_chief() ? make_uuid() : ""));
    return upload_as(uuid, steps_completed, upload);
}

Result<std::string> Checkpoint::store_sharded(std::uint64_t steps_completed, nlohmann::json metadata,
                                              Write const& write) {
    if (metadata.is_object()) metadata["steps_completed"] = steps_completed;
    auto& distributed = session_.distributed;
    DET_TRY_ASSIGN(auto const uuid, distributed.broadcast(distributed.is_chief() ? make_uuid() : ""));
    checkpoint::Upload upload;
    upload.metadata = std::move(metadata);
    auto const written = [&]() -> Status {
        DET_TRY_ASSIGN(upload.directory, session_.store->open(uuid));
        return write(*upload.directory);
    }();
    if (!written) upload.trouble = written.error();
    return upload_as(uuid, steps_completed, upload);
}

/// Writes a record with which a later run finds checkpoints that were committed and not reported, and garbage
/// collection finds files of checkpoints that were not committed. The record is not synced to disk, because
/// training would wait for that; it survives a crash of this process.
Status Checkpoint::announce(std::string const& uuid, std::uint64_t steps_completed) {
    if (!session_.journal) return Ok{};
    return session_.journal->append(CheckpointBegun{session_.clock.now(), uuid, steps_completed});
}

Status Checkpoint::report(CheckpointManifest const& manifest) {
    if (!session_.journal) return Ok{};
    return session_.journal->append(
        CheckpointCommitted{session_.clock.now(), manifest.uuid, manifest.steps_completed,
                            resources_of(manifest), manifest.metadata},
        Durability::power_loss);
}

Status Checkpoint::report(Outcomes const& outcomes) {
    for (auto const& outcome : outcomes) {
        auto const begun = tensors_->begun.extract(outcome.uuid);
        if (begun && !outcome.error) measure(begun.mapped());
        if (outcome.manifest) DET_TRY(report(*outcome.manifest));
    }
    return Ok{};
}

Status Checkpoint::prepare(checkpoint::State const& state) { return tensors().saver.prepare(state); }

Result<checkpoint::SaveStarted> Checkpoint::save(std::uint64_t steps_completed, nlohmann::json metadata,
                                                 checkpoint::State const& state) {
    return begin_save(steps_completed, std::move(metadata), state, checkpoint::AfterSave::train);
}

Result<checkpoint::SaveStarted> Checkpoint::begin_save(std::uint64_t steps_completed, nlohmann::json metadata,
                                                       checkpoint::State const& state,
                                                       checkpoint::AfterSave after) {
    // The saver refuses metadata that is not an object, on all ranks.
    if (metadata.is_object()) metadata["steps_completed"] = steps_completed;
    auto const begin = session_.clock.steady_now();
    DET_TRY_ASSIGN(auto begun, tensors().saver.save({run_name(session_), steps_completed,
                                                     session_.clock.now(), std::move(metadata)},
                                                    state, after));
    tensors().begun[begun.uuid] = begin;
    DET_TRY(announce(begun.uuid, steps_completed));
    DET_TRY(report(begun.ended));
    return begun;
}

void Checkpoint::measure(std::chrono::steady_clock::time_point begun) {
    cost_ = std::chrono::duration_cast<std::chrono::microseconds>(session_.clock.steady_now() - begun);
}

Result<bool> Checkpoint::has_time_to_save() {
    std::optional<std::chrono::microseconds> left;
    if (auto const end = session_.killed_at())
        left = std::chrono::duration_cast<std::chrono::microseconds>(*end - session_.clock.steady_now());
    bool const has_time = preemption::choose_final_save(left, cost_) == preemption::FinalSave::save_new;
    DET_TRY_ASSIGN(auto const told, session_.distributed.broadcast(has_time ? "yes" : "no"));
    return told == "yes";
}

Result<Checkpoint::Outcomes> Checkpoint::save_last(std::uint64_t steps_completed, nlohmann::json metadata,
                                                   checkpoint::State const& state) {
    DET_TRY_ASSIGN(bool const saves, has_time_to_save());
    if (saves)
        DET_TRY(begin_save(steps_completed, std::move(metadata), state, checkpoint::AfterSave::finish));
    return finish();
}

Result<Checkpoint::Outcomes> Checkpoint::poll() {
    if (!tensors_) return Outcomes();
    DET_TRY_ASSIGN(auto ended, tensors().saver.poll());
    DET_TRY(report(ended));
    return ended;
}

Result<Checkpoint::Outcomes> Checkpoint::finish() {
    if (!tensors_) return Outcomes();
    DET_TRY_ASSIGN(auto ended, tensors().saver.finish());
    DET_TRY(report(ended));
    return ended;
}

Result<std::optional<checkpoint::Loaded>> Checkpoint::load(checkpoint::State const& state,
                                                           checkpoint::OnDamage on_damage) {
    std::vector<std::string> newest_first;
    if (session_.distributed.is_chief()) {
        if (auto const newest = latest()) newest_first.push_back(*newest);
        // If a journal cannot be read, only the newest checkpoint is tried.
        auto const past = session_.in_experiment()
                              ? list_past_checkpoints(session_.info->run_path, *session_.store)
                              : Result(std::vector<std::string>());
        for (auto const& uuid : past.value_or(std::vector<std::string>())) {
            if (std::ranges::find(newest_first, uuid) == newest_first.end()) newest_first.push_back(uuid);
        }
    }
    return checkpoint::load(
        tensors().peers, *session_.store, std::move(newest_first), state, on_damage,
        {.devices = session_.distributed.device_copies(), .spare_memory = tensors().saver.spare_memory()});
}

std::optional<std::string> Checkpoint::latest() const {
    return session_.info ? session_.info->cluster.latest_checkpoint : std::nullopt;
}

Result<std::filesystem::path> Checkpoint::restore_path(std::string const& uuid) const {
    DET_TRY_ASSIGN(auto whole, session_.store->fetch_whole(uuid));
    return std::move(whole.directory);
}

Result<CheckpointManifest> Checkpoint::manifest(std::string const& uuid) const {
    return session_.store->find(uuid);
}

}  // namespace det::core
