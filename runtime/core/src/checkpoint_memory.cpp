// Snapshots in the memory of the nodes (slurm.memory_checkpoints).
#include <det/core/checkpoint.hpp>
#include <det/protocol/json.hpp>
#include <det/protocol/record.hpp>
#include <det/protocol/steps_completed.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <sched.h>
#include <utility>

#include "checkpoint_parts.hpp"
#include "context_data.hpp"
#include "partner_messages.hpp"

namespace det::core {
namespace {

/// The interval of slurm.memory_checkpoints; 0 without that key, and outside of an experiment.
std::uint64_t memory_interval_steps(ContextData const& data) {
    if (!data.in_experiment() || !data.info->spec || data.memory_place.job.empty()) return 0;
    if (data.info->spec->launch == Launch::script) return 0;  // nothing would remove them
    Json::json_pointer const key("/slurm/memory_checkpoints/every");
    auto const& config = *data.info->spec->config;
    return config.contains(key) && config.at(key).is_number_unsigned() ? config.at(key).get<std::uint64_t>()
                                                                       : 0;
}

checkpoint::MemorySnapshotOptions memory_options(ContextData& data) {
    checkpoint::MemorySnapshotOptions options;
    options.place = data.memory_place;
    options.run = data.info->trial->trial_run_id;
    options.node = data.distributed.cross_rank();
    options.is_first_of_node = data.distributed.local_rank() == 0;
    options.switch_name = data.switch_name;
    if (data.distributed.cross_size() > 1)
        options.open_messages = [&data] { return open_partner_messages(data); };
    options.copy_threads = checkpoint::options_for_cores(cores_per_rank(data)).copy_threads;
    options.warn = data.warn;
    // What was reported before a snapshot must not be lost if the next run continues from it.
    options.may_complete = [&data] { return data.flush_reports_once(); };
    return options;
}

}  // namespace

int cores_per_rank(ContextData const& data) {
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0) return 1;
    return CPU_COUNT(&allowed) / data.distributed.local_size();
}

Checkpoint::Memory::Memory(ContextData& data, std::uint64_t interval_steps)
    : every(interval_steps),
      first_steps(data.info->trial->steps_completed),
      last_steps(first_steps),
      peers(data.distributed),
      snapshots(peers, memory_options(data)) {}

Checkpoint::Memory* Checkpoint::memory() const {
    if (!memory_) {
        auto const every = memory_interval_steps(data_);
        if (every == 0) return nullptr;
        memory_ = std::make_unique<Memory>(data_, every);
    }
    memory_->snapshots.use_devices(data_.distributed.device_copies());  // Context::add_devices may add them
    return memory_.get();
}

bool Checkpoint::is_kept_in_memory(std::uint64_t steps_completed) {
    auto* const kept = memory();
    // The program did not continue from the state that it had loaded.
    if (kept != nullptr && !kept->has_kept && steps_completed < kept->last_steps) forget_continued();
    return kept != nullptr && !kept->snapshots.is_off() && steps_completed > kept->last_steps &&
           steps_completed >= kept->retry_at &&
           steps_completed / kept->every > kept->last_steps / kept->every;
}

Result<bool> Checkpoint::keep_in_memory(std::uint64_t steps_completed, nlohmann::json metadata,
                                        checkpoint::State const& state) {
    DET_TRY(check_steps_completed(steps_completed));
    if (!is_kept_in_memory(steps_completed)) return false;
    if (metadata.is_object()) metadata["steps_completed"] = steps_completed;
    DET_TRY(data_.note_steps(steps_completed));
    DET_TRY_ASSIGN(bool const is_kept,
                   memory_->snapshots.keep(steps_completed, JsonValue(std::move(metadata)), state));
    if (is_kept || memory_->snapshots.is_off()) {
        memory_->last_steps = steps_completed;
        memory_->has_kept = true;
    } else {  // it is due again soon, but not in each step: a program may need time to collect its state
        memory_->retry_at = steps_completed + (memory_->every + 7) / 8;
    }
    return is_kept;
}

void Checkpoint::finish_in_memory() {
    if (memory_) memory_->snapshots.finish();
}

void Checkpoint::close_memory() { memory_.reset(); }

Result<std::optional<checkpoint::Loaded>> Checkpoint::load_from_memory(checkpoint::State const& state) {
    auto* const kept = memory();
    if (kept == nullptr) return std::optional<checkpoint::Loaded>();
    forget_continued();
    DET_TRY_ASSIGN(bool const may_load, may_load_kept());
    if (!may_load) return std::optional<checkpoint::Loaded>();
    DET_TRY_ASSIGN(auto found, kept->snapshots.load(state, kept->first_steps));
    if (!found) return std::optional<checkpoint::Loaded>();
    note_continued(found->loaded, found->run);
    return std::optional(std::move(found->loaded));
}

/// What this run has saved or kept itself is newer. The chief alone knows of checkpoints that it makes.
Result<bool> Checkpoint::may_load_kept() {
    std::int64_t may_load[] = {has_saved_ || memory_->has_kept ? 0 : 1};
    DET_TRY(memory_->peers.allreduce_min(may_load));
    return may_load[0] != 0;
}

Status Checkpoint::fetch_kept() {
    auto* const kept = memory();
    if (kept == nullptr) return Ok{};
    DET_TRY_ASSIGN(bool const may_load, may_load_kept());
    if (!may_load) return Ok{};
    return kept->snapshots.fetch(kept->first_steps);
}

Result<checkpoint::Loaded> Checkpoint::load_named_from_memory(std::string const& name,
                                                              checkpoint::State const& state) {
    forget_continued();
    DET_TRY_ASSIGN(auto found, memory_->snapshots.load_named(state, name));
    note_continued(found.loaded, found.run);
    return std::move(found.loaded);
}

/// Names the run. The journal gets a record when the program goes on from this state.
void Checkpoint::note_continued(checkpoint::Loaded& loaded, std::uint32_t run) {
    auto const steps = loaded.manifest.steps_completed;
    loaded.manifest.run = fmt::format("{}.{}", to_string(data_.info->trial->trial), run);
    if (!memory_->has_kept) memory_->last_steps = steps;
    if (data_.reporter) data_.continued->set({data_.clock.now(), steps, run});
}

/// The program does not continue from the state that it has loaded from memory, or loads another one.
void Checkpoint::forget_continued() {
    data_.continued->clear();
    if (memory_ && !memory_->has_kept) memory_->last_steps = memory_->first_steps;
}

}  // namespace det::core
