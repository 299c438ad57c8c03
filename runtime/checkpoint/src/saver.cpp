#include <det/checkpoint/saver.hpp>

#include <algorithm>
#include <deque>
#include <fmt/format.h>
#include <limits>

#include "commit_files.hpp"
#include "error_message.hpp"
#include "metadata_file.hpp"
#include "pinned_memory.hpp"
#include "save_agreement.hpp"
#include "save_in_flight.hpp"
#include "snapshot.hpp"
#include "written_files.hpp"

namespace det::checkpoint {
namespace {

using SteadyClock = std::chrono::steady_clock;

std::chrono::microseconds since(SteadyClock::time_point begin) {
    return std::chrono::duration_cast<std::chrono::microseconds>(SteadyClock::now() - begin);
}

}  // namespace

class Saver::Engine {
public:
    Engine(Peers& peers, Store& store, SaverOptions options)
        : peers_(peers),
          store_(store),
          options_(std::move(options)),
          agreement_(peers),
          memory_(options_.in_flight_max),
          workers_(options_.writer_threads) {}
    ~Engine() {
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
            if (all) all = make_room(memory, *agreed.plan, state);
        }
        return agree(peers_, all);
    }

    Result<Begun> save(About const& about, State const& state, Then then) {
        DET_TRY_ASSIGN(auto ended, poll());
        Begun begun;
        auto const begin = SteadyClock::now();
        while (in_flight_.size() == options_.in_flight_max) {
            DET_TRY_ASSIGN(auto outcome, end_oldest());
            ended.push_back(std::move(outcome));
            begun.waited = since(begin);
        }
        begun.ended = std::move(ended);
        DET_TRY_ASSIGN(auto const agreed,
                       agreement_.agree(about.steps_completed, state, check_metadata(about.metadata)));
        begun.uuid = agreed.uuid;
        auto& save = in_flight_.emplace_back(SaveInFlight{agreed.uuid, about, agreed.plan});
        // Who compares with what this memory held has done so, or it is not touched yet.
        if (last_.write) DET_TRY(last_.write->wait_until_compared(options_.write_limit));
        auto& memory = memory_[begun_count_++ % memory_.size()];
        auto const copy_begin = SteadyClock::now();
        begin_writing(save, state, memory, then);
        begun.copied = since(copy_begin);
        return begun;
    }

    Result<std::vector<Outcome>> poll() {
        std::vector<Outcome> ended;
        if (in_flight_.empty()) return ended;
        std::int64_t counts[] = {count_while(&SaveInFlight::is_written),
                                 peers_.is_chief() ? count_while(&SaveInFlight::is_committed) : everything};
        DET_TRY(peers_.minimum(counts));
        auto const [written, committed] = counts;
        while (gathered_count_ < written)
            DET_TRY(hand_in(in_flight_[static_cast<std::size_t>(gathered_count_ - ended_count_)]));
        while (ended_count_ < committed && ended_count_ < gathered_count_) {
            DET_TRY_ASSIGN(auto outcome, tell_outcome());
            ended.push_back(std::move(outcome));
        }
        return ended;
    }

    Result<std::vector<Outcome>> finish() {
        std::vector<Outcome> ended;
        while (!in_flight_.empty()) {
            DET_TRY_ASSIGN(auto outcome, end_oldest());
            ended.push_back(std::move(outcome));
        }
        return ended;
    }

    std::size_t in_flight() const { return in_flight_.size(); }

    std::span<std::byte> spare_memory() const {
        if (begun_count_ > 0 || memory_.empty()) return {};
        auto const& memory = memory_.front().memory();
        return {memory.data(), memory.size_bytes()};
    }

private:
    static constexpr auto everything = std::numeric_limits<std::int64_t>::max();

    ShardPlan const& own_shard(WritePlan const& plan) const {
        return plan.shards[static_cast<std::size_t>(peers_.rank())];
    }

    Status make_room(PinnedMemory& memory, WritePlan const& plan, State const& state) {
        auto const& shard = own_shard(plan);
        auto* const devices = is_on_devices(shard, state, options_.devices) ? options_.devices : nullptr;
        DET_TRY(memory.make_room(shard.size_bytes, devices));
        if (auto const refusal = memory.take_refusal(); refusal && !std::exchange(has_warned_, true))
            warn(*refusal);
        return Ok{};
    }

    void warn(Error const& refusal) const {
        if (!options_.on_warning) return;
        options_.on_warning("tensors on devices are copied slowly, by way of the driver's memory: " +
                            refusal.message);
    }

    /// What goes wrong from here on is told when the save ends: other ranks don't wait for us.
    void begin_writing(SaveInFlight& save, State const& state, PinnedMemory& room, Then then) {
        auto const before = std::exchange(last_, {});
        auto const& shard = own_shard(*save.plan);
        if (shard.slices.empty()) return;
        if (auto const roomy = make_room(room, *save.plan, state); !roomy) {
            save.error = roomy.error();
            return;
        }
        save.write = std::make_shared<ShardWrite>(
            [this, uuid = save.uuid] { return store_.open(uuid); },
            [this, uuid = save.uuid, file = shard.file] { return store_.put(uuid, {file}); }, shard.file,
            room.memory().data(), shard.size_bytes, options_.block_size_bytes);
        if (before.write) {
            save.write->compare_with(
                {before.write, before.uuid, [this, from = before.uuid, uuid = save.uuid, file = shard.file] {
                     return store_.share(from, uuid, file);
                 }});
        }
        if (options_.share_unchanged && memory_.size() > 1) last_ = {save.write, save.uuid};
        bool const writes_meanwhile = options_.write_while_copying || then == Then::finish;
        if (writes_meanwhile) save.write->start(workers_);
        auto const copied = take_snapshot(
            shard, state, room.memory(),
            {options_.copy_threads, options_.devices, [&](auto size) { save.write->on_there(size); }});
        if (!copied) save.write->on_missing(copied.error());
        if (!writes_meanwhile) save.write->start(workers_);
    }

    /// How many saves, counted from the first, are so far: for this rank, for the chief.
    std::int64_t count_while(bool (SaveInFlight::*is_so)() const) const {
        auto const first =
            std::ranges::find_if_not(in_flight_, [&](auto const& save) { return (save.*is_so)(); });
        return ended_count_ + (first - in_flight_.begin());
    }

    /// All have written it: the chief gets their checksums, and lets its threads commit.
    Status hand_in(SaveInFlight& save) {
        DET_TRY_ASSIGN(auto const texts, peers_.gather(render_written(save.written())));
        ++gathered_count_;
        if (!peers_.is_chief()) return Ok{};
        std::promise<Result<CheckpointManifest>> promise;
        save.manifest = promise.get_future();
        auto files = collect_written(texts);
        if (!files) {
            promise.set_value(clean_up_after(std::move(files).error(), store_, save.uuid));
            return Ok{};
        }
        auto manifest = save.make_manifest(peers_.size(), *std::move(files));
        workers_.hand([this, manifest = std::move(manifest),
                       promise = std::make_shared<decltype(promise)>(std::move(promise))]() mutable {
            promise->set_value(commit_files(store_, std::move(manifest), options_.may_commit));
        });
        return Ok{};
    }

    /// The chief knows how the oldest save ended, and tells the others.
    Result<Outcome> tell_outcome() {
        auto& save = in_flight_.front();
        Outcome outcome{save.uuid, save.about.steps_completed, {}, {}};
        std::string text;
        if (peers_.is_chief()) {
            auto manifest = save.manifest.get();
            if (manifest)
                outcome.manifest = *std::move(manifest);
            else
                text = render_error(manifest.error());
        }
        DET_TRY_ASSIGN(auto const told, peers_.broadcast(std::move(text)));
        if (!told.empty()) outcome.error = parse_error(told);
        in_flight_.pop_front();
        ++ended_count_;
        return outcome;
    }

    Result<Outcome> end_oldest() {
        auto& save = in_flight_.front();
        if (save.write) DET_TRY(save.write->wait(options_.write_limit));
        if (gathered_count_ == ended_count_) DET_TRY(hand_in(save));
        if (save.manifest.valid() &&
            save.manifest.wait_for(options_.write_limit) != std::future_status::ready) {
            return Error{codes::timed_out, fmt::format("checkpoint {} was not committed within {} s",
                                                       save.uuid, options_.write_limit.count() / 1000)};
        }
        return tell_outcome();
    }

    Peers& peers_;
    Store& store_;
    SaverOptions const options_;
    SaveAgreement agreement_;
    std::vector<PinnedMemory> memory_;
    struct Last {
        std::shared_ptr<ShardWrite> write = nullptr;
        std::string uuid = {};
    };
    Last last_;  // save, if its bytes are to be compared with the next: they stay so long
    std::deque<SaveInFlight> in_flight_;  // the oldest first
    bool has_warned_ = false;
    // Of all saves since the beginning:
    std::size_t begun_count_ = 0;
    std::int64_t gathered_count_ = 0;
    std::int64_t ended_count_ = 0;
    Workers workers_;  // last: its threads use the others
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
Result<Saver::Begun> Saver::save(About const& about, State const& state, Then then) {
    return engine_->save(about, state, then);
}
Result<std::vector<Saver::Outcome>> Saver::poll() { return engine_->poll(); }
Result<std::vector<Saver::Outcome>> Saver::finish() { return engine_->finish(); }
std::size_t Saver::in_flight() const { return engine_->in_flight(); }
std::span<std::byte> Saver::spare_memory() const { return engine_->spare_memory(); }

}  // namespace det::checkpoint
