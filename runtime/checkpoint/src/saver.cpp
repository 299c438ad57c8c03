#include <det/checkpoint/error_exchange.hpp>
#include <det/checkpoint/saver.hpp>
#include <det/protocol/steps_completed.hpp>

#include <algorithm>
#include <atomic>
#include <deque>
#include <fmt/format.h>
#include <future>
#include <limits>
#include <memory>

#include "checkpoint_files.hpp"
#include "host_memory.hpp"
#include "parallel.hpp"
#include "shard_write.hpp"
#include "snapshot.hpp"
#include "source_files.hpp"
#include "write_plan.hpp"

namespace det::checkpoint {
namespace {

using SteadyClock = std::chrono::steady_clock;

std::chrono::microseconds since(SteadyClock::time_point begin) {
    return std::chrono::duration_cast<std::chrono::microseconds>(SteadyClock::now() - begin);
}

Status check(SaveDescription const& description) {
    DET_TRY(check_steps_completed(description.steps_completed));
    return check_metadata(*description.metadata);
}

}  // namespace

/// A save that has begun and not ended, on one rank.
struct SaveInFlight {
    std::string uuid;
    SaveDescription description;
    std::shared_ptr<WritePlan const> plan;
    PinnedMemory* memory;                                   // has the copy of what this rank writes
    std::shared_ptr<ShardWrite> write = nullptr;            // null: nothing to write, or it failed to begin
    std::optional<Error> error = {};                        // the error if it failed to begin
    std::future<Result<CheckpointManifest>> manifest = {};  // on the chief, after all ranks have written

    bool is_written() const { return !write || write->is_done(); }
    bool is_committed() const {
        return manifest.valid() && manifest.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
    }
    /// Returns the file of this rank (no entry if the rank writes none), or the error. Called when
    /// is_written().
    Result<std::vector<CheckpointFile>> written() const {
        if (error) return *error;
        if (!write) return std::vector<CheckpointFile>();
        DET_TRY_ASSIGN(auto file, write->result());
        return std::vector{std::move(file)};
    }
    /// The manifest, with the files of all ranks.
    CheckpointManifest make_manifest(int world_size, std::vector<CheckpointFile> files) const {
        return {uuid,
                description.run,
                description.steps_completed,
                description.time,
                world_size,
                std::move(files),
                {},
                description.metadata,
                plan->tensors};
    }
};

namespace {

/// The files of all ranks, or the error of the lowest rank that has one.
Result<std::vector<CheckpointFile>> concatenate(std::vector<Result<std::vector<CheckpointFile>>> results) {
    DET_TRY_ASSIGN(auto const of_ranks, require_all(std::move(results)));
    std::vector<CheckpointFile> files;
    for (auto const& of_rank : of_ranks) files.insert(files.end(), of_rank.begin(), of_rank.end());
    return files;
}

}  // namespace

class Saver::Engine {
public:
    Engine(Peers& peers, Store& store, SaverOptions options)
        : peers_(peers),
          store_(store),
          options_(std::move(options)),
          devices_(options_.devices),
          agreement_(peers),
          memory_(options_.in_flight_max),
          pool_(thread_name, options_.writer_threads) {}
    ~Engine() {
        is_ending_ = true;
        for (auto& save : in_flight_) {
            if (save.write) save.write->give_up();
        }
    }
    Engine(Engine const&) = delete;
    Engine& operator=(Engine const&) = delete;

    Status prepare(State const& state) {
        DET_TRY_ASSIGN(auto const agreed, agreement_.agree(0, state, Ok{}));
        last_ = {};
        Status all = Ok{};
        for (auto& memory : memory_) {
            if (all) all = reserve(memory, *agreed.plan, state);
        }
        return agree_on_status(peers_, all);
    }

    void use_devices(tensor::DeviceCopies* devices) { devices_ = devices; }

    void wait_snapshot() {
        if (late_copies_.valid()) late_copies_.get();
    }

    Result<SaveStarted> save(SaveDescription const& description, State const& state,
                             TrainingAfterSave after) {
        wait_snapshot();
        DET_TRY(advance());
        SaveStarted started;
        auto const begin = SteadyClock::now();
        while (in_flight_.size() == options_.in_flight_max) {
            DET_TRY(end_oldest());
            started.waited = since(begin);
        }
        DET_TRY_ASSIGN(auto const agreed,
                       agreement_.agree(description.steps_completed, state, check(description)));
        started.ended = take_ended();
        started.uuid = agreed.uuid;
        auto& memory = choose_memory();
        auto& save = in_flight_.emplace_back(SaveInFlight{agreed.uuid, description, agreed.plan, &memory});
        ++begun_count_;
        if (auto compared = wait_until_compared(); !compared) {
            save.error = std::move(compared).error();
            return started;
        }
        auto const copy_begin = SteadyClock::now();
        begin_writing(save, state, memory, after);
        started.copied = since(copy_begin);
        return started;
    }

    Result<std::vector<SaveOutcome>> poll() {
        DET_TRY(advance());
        return take_ended();
    }

    Result<std::vector<SaveOutcome>> finish() {
        wait_snapshot();
        while (!in_flight_.empty()) DET_TRY(end_oldest());
        return take_ended();
    }

    std::size_t in_flight() const { return in_flight_.size(); }

    std::span<std::byte> spare_memory() const {
        if (begun_count_ > 0 || memory_.empty()) return {};
        auto const& memory = memory_.front().memory();
        return {memory.data(), memory.size_bytes()};
    }

private:
    static constexpr auto everything = std::numeric_limits<std::int64_t>::max();

    std::vector<SaveOutcome> take_ended() { return std::exchange(ended_, {}); }

    /// Begins to commit the saves that all ranks have written, and ends those that are committed. Collective.
    Status advance() {
        if (in_flight_.empty()) return Ok{};
        std::int64_t counts[] = {count_while(&SaveInFlight::is_written),
                                 peers_.is_chief() ? count_while(&SaveInFlight::is_committed) : everything};
        DET_TRY(peers_.allreduce_min(counts));
        auto const [written, committed] = counts;
        while (gathered_count_ < written)
            DET_TRY(hand_in(in_flight_[static_cast<std::size_t>(gathered_count_ - ended_count_)]));
        while (ended_count_ < committed && ended_count_ < gathered_count_) DET_TRY(end_committed());
        return Ok{};
    }

    ShardPlan const& own_shard(WritePlan const& plan) const {
        return plan.shards[static_cast<std::size_t>(peers_.rank())];
    }

    Status reserve(PinnedMemory& memory, WritePlan const& plan, State const& state) {
        auto const& shard = own_shard(plan);
        auto* const devices = is_on_devices(shard, state, devices_) ? devices_ : nullptr;
        DET_TRY(memory.reserve(shard.size_bytes, devices));
        if (auto const refusal = memory.take_refusal(); refusal && !std::exchange(has_warned_, true))
            warn(*refusal);
        return Ok{};
    }

    void warn(Error const& refusal) const {
        if (!options_.on_warning) return;
        options_.on_warning("tensors on devices are copied slowly, by way of the driver's memory: " +
                            refusal.message);
    }

    /// Memory that no save in flight uses. It is the first one, so that a program whose saves do not overlap
    /// needs one copy of its state; with share_unchanged the bytes of the last save must stay for a
    /// comparison.
    PinnedMemory& choose_memory() {
        if (options_.share_unchanged) return memory_[begun_count_ % memory_.size()];
        return *std::ranges::find_if(memory_, [this](auto const& memory) {
            return std::ranges::find(in_flight_, &memory, &SaveInFlight::memory) == in_flight_.end();
        });
    }

    /// Blocks until the last write has compared its bytes with those of the write before it: the next save
    /// may overwrite the memory of that earlier write.
    Status wait_until_compared() {
        if (!last_.write) return Ok{};
        auto const compared = last_.write->wait_until_compared(options_.write_limit);
        if (!compared) last_ = {};
        return compared;
    }

    /// Copies this rank's part of the state and writes it in the background. Errors are reported when the
    /// save ends, because other ranks do not wait for this rank here.
    void begin_writing(SaveInFlight& save, State const& state, PinnedMemory& memory,
                       TrainingAfterSave after) {
        auto const before = std::exchange(last_, {});
        auto const& shard = own_shard(*save.plan);
        if (shard.slices.empty()) return;
        if (auto const reserved = reserve(memory, *save.plan, state); !reserved) {
            save.error = reserved.error();
            return;
        }
        save.write = std::make_shared<ShardWrite>(
            [this, uuid = save.uuid] { return store_.create_directory(uuid); },
            [this, uuid = save.uuid](CheckpointFile& file) {
                return store_.put_files(uuid, {&file, 1});
            },
            shard.file, memory.memory().data(), shard.size_bytes, options_.block_size_bytes);
        save.write->set_retry(store_.write_retry());
        if (before.write) {
            save.write->share_if_equal(
                {before.write, before.uuid, [this, from = before.uuid, uuid = save.uuid, file = shard.file] {
                     return store_.share_file(from, uuid, file);
                 }});
        }
        if (options_.share_unchanged && memory_.size() > 1) last_ = {save.write, save.uuid};
        bool const writes_meanwhile = options_.write_while_copying || after == TrainingAfterSave::ends;
        if (writes_meanwhile) save.write->start(pool_);
        auto late = take_snapshot(shard, state, memory.memory().data(),
                                  {options_.copy_threads, devices_,
                                   [write = save.write](auto size) { write->on_available(size); }});
        if (!late)
            save.write->on_missing(late.error());
        else if (*late)
            finish_in_background(*std::move(late), save.write);
        if (!writes_meanwhile) save.write->start(pool_);
    }

    /// A thread of its own waits for the copies, because those of the pool may wait for a disk.
    void finish_in_background(std::unique_ptr<LateCopies> copies, std::shared_ptr<ShardWrite> write) {
        if (!late_thread_) late_thread_ = std::make_unique<ThreadPool>(thread_name, 1);
        auto const complete = std::make_shared<std::promise<void>>();
        late_copies_ = complete->get_future();
        late_thread_->submit([copies = std::shared_ptr<LateCopies>(std::move(copies)),
                              write = std::move(write), complete]() mutable {
            if (auto finished = copies->finish(); !finished) write->on_missing(std::move(finished).error());
            copies.reset();  // after an error it waits for the copies that are still in progress
            complete->set_value();
        });
    }

    /// The number of saves, counted since the beginning, before the first one that does not meet the
    /// condition.
    std::int64_t count_while(bool (SaveInFlight::*condition)() const) const {
        auto const first =
            std::ranges::find_if_not(in_flight_, [&](auto const& save) { return (save.*condition)(); });
        return ended_count_ + (first - in_flight_.begin());
    }

    /// Called when all ranks have written this save: gathers their checksums on the chief, whose threads
    /// commit. Collective.
    Status hand_in(SaveInFlight& save) {
        DET_TRY_ASSIGN(auto results, exchange_results(peers_, save.written(), Receivers::chief));
        ++gathered_count_;
        if (!peers_.is_chief()) return Ok{};
        std::promise<Result<CheckpointManifest>> promise;
        save.manifest = promise.get_future();
        auto files = concatenate(std::move(results));
        if (!files) {
            promise.set_value(clean_up_after(std::move(files).error(), store_, save.uuid));
            return Ok{};
        }
        auto manifest = save.make_manifest(peers_.size(), *std::move(files));
        pool_.submit([this, manifest = std::move(manifest), directory = save.description.directory,
                      promise = std::make_shared<decltype(promise)>(std::move(promise))]() mutable {
            promise->set_value(commit(std::move(manifest), directory));
        });
        return Ok{};
    }

    Result<CheckpointManifest> commit(CheckpointManifest manifest, std::filesystem::path const& directory) {
        if (!directory.empty()) {
            auto const added = add_directory(store_, directory, manifest);
            if (!added) return clean_up_after(added.error(), store_, manifest.uuid);
        }
        auto retry = store_.write_retry();
        retry.is_given_up = [this] { return is_ending_.load(); };
        return commit_files(store_, std::move(manifest), options_.may_commit, retry);
    }

    /// Ends the oldest save after its commit has succeeded or failed: the chief shares the result.
    /// Collective.
    Status end_committed() {
        auto& save = in_flight_.front();
        SaveOutcome outcome{save.uuid, save.description.steps_completed, {}, {}};
        Status committed = Ok{};
        if (peers_.is_chief()) {
            auto manifest = save.manifest.get();
            if (manifest)
                outcome.manifest = *std::move(manifest);
            else
                committed = std::move(manifest).error();
        }
        DET_TRY_ASSIGN(auto const results, exchange_results(peers_, committed));
        if (!results[0]) outcome.error = results[0].error();
        in_flight_.pop_front();
        ++ended_count_;
        ended_.push_back(std::move(outcome));
        return Ok{};
    }

    /// Blocks until the oldest save has ended. If a rank's time limit passes, all ranks get its error, and
    /// the save remains in flight. Collective.
    Status end_oldest() {
        auto& save = in_flight_.front();
        if (gathered_count_ == ended_count_) {
            DET_TRY(agree_on_status(peers_, save.write ? save.write->wait(options_.write_limit) : Ok{}));
            DET_TRY(hand_in(save));
        }
        DET_TRY(agree_on_status(peers_, wait_until_committed(save)));
        return end_committed();
    }

    Status wait_until_committed(SaveInFlight const& save) const {
        if (!save.manifest.valid() ||
            save.manifest.wait_for(options_.write_limit) == std::future_status::ready)
            return Ok{};
        return Error{codes::timed_out, fmt::format("checkpoint {} was not committed within {} s", save.uuid,
                                                   options_.write_limit.count() / 1000)};
    }

    Peers& peers_;
    Store& store_;
    SaverOptions const options_;
    tensor::DeviceCopies* devices_;
    SaveAgreement agreement_;
    std::vector<PinnedMemory> memory_;
    struct Last {
        std::shared_ptr<ShardWrite> write = nullptr;
        std::string uuid = {};
    };
    Last last_;  // the last save, if the next one is compared with it; null otherwise
    std::deque<SaveInFlight> in_flight_;  // oldest first
    std::vector<SaveOutcome> ended_;      // not returned yet; kept if a call fails
    bool has_warned_ = false;
    std::atomic<bool> is_ending_ = false;  // the destructor waits for no further attempt to write
    // Numbers of saves since the beginning:
    std::size_t begun_count_ = 0;
    std::int64_t gathered_count_ = 0;
    std::int64_t ended_count_ = 0;
    std::future<void> late_copies_;  // of the last save; not valid if none are in progress
    // Declared last: their threads use the other members.
    ThreadPool pool_;
    std::unique_ptr<ThreadPool> late_thread_;  // made by the first save that has late copies
};

SaverOptions options_for_cores(int cores_per_rank) {
    constexpr int fill_the_memory_bus = 4;
    SaverOptions options;
    options.copy_threads = std::clamp(cores_per_rank, 1, fill_the_memory_bus);
    options.write_while_copying = cores_per_rank > 1;
    return options;
}

Saver::Saver(Peers& peers, Store& store, SaverOptions options)
    : engine_(std::make_unique<Engine>(peers, store, std::move(options))) {}
Saver::Saver(Saver&&) noexcept = default;
Saver& Saver::operator=(Saver&&) noexcept = default;
Saver::~Saver() = default;

Status Saver::prepare(State const& state) { return engine_->prepare(state); }
Result<SaveStarted> Saver::save(SaveDescription const& description, State const& state,
                                TrainingAfterSave after) {
    return engine_->save(description, state, after);
}
void Saver::use_devices(tensor::DeviceCopies* devices) { engine_->use_devices(devices); }
void Saver::wait_snapshot() { engine_->wait_snapshot(); }
Result<std::vector<SaveOutcome>> Saver::poll() { return engine_->poll(); }
Result<std::vector<SaveOutcome>> Saver::finish() { return engine_->finish(); }
std::size_t Saver::in_flight() const { return engine_->in_flight(); }
std::span<std::byte> Saver::spare_memory() const { return engine_->spare_memory(); }

}  // namespace det::checkpoint
