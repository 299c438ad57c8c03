#pragma once
#include <det/collectives/device/device_backend.hpp>
#include <det/collectives/reduction.hpp>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <vector>

namespace det::collectives::device {

/// Devices of ranks that are threads. A call that asks whether work is done does the work that all ranks have
/// put on a stream. While the devices are held, no work is done.
class FakeDevices {
public:
    explicit FakeDevices(int ranks) : states_(static_cast<std::size_t>(ranks)) {}

    std::function<bool(void const*)> is_device_memory = [](void const*) { return true; };
    std::function<void(void*, void const*, std::size_t)> copy_memory = [](auto* to, auto* from, auto size) {
        std::memcpy(to, from, size);
    };
    std::function<bool(int rank, Stream)> is_capturing = [](int, Stream) { return false; };
    int polls_until_ready = 3;  // after each request
    int rank_without_library = -1;
    std::atomic<int> copies_until_broken = 1'000'000;
    std::atomic<int> copies_done = 0, pinned_now = 0;

    void hold() {
        set([this] { is_held_ = true; });
    }
    void release() {
        set([this] { is_held_ = false; });
    }
    void break_device(int rank) {
        set([&] { state_of(rank).is_broken = true; });
    }
    bool was_aborted(int rank) {
        return get([&] { return state_of(rank).is_aborted; });
    }
    bool has_finished(int rank) {
        return get([&] { return state_of(rank).has_finished; });
    }
    std::vector<Stream> streams_of(int rank) {
        return get([&] {
            std::vector<Stream> streams;
            for (auto const& batch : state_of(rank).batches) streams.push_back(batch.stream);
            return streams;
        });
    }
    int ids_made() {
        return get([this] { return ids_made_; });
    }

    std::string make_id() {
        return get([this] { return "id-" + std::to_string(++ids_made_); });
    }
    void connect(int rank, std::string const& id) {
        set([&] {
            state_of(rank).id = id;
            state_of(rank).polls_left = polls_until_ready;
        });
    }
    Result<bool> is_ready(int rank) {
        return get([&]() -> Result<bool> {
            auto& own = state_of(rank);
            if (own.is_broken) return Error{codes::transport, "cannot use the devices: it broke"};
            for (auto const& other : states_) {
                if (other.id != own.id) return false;
            }
            if (own.polls_left-- > 0) return false;
            own.taken = own.batches.size();
            return true;
        });
    }
    void enqueue(int rank, std::span<DeviceStep const> steps, Stream stream) {
        set([&] {
            state_of(rank).batches.push_back({{steps.begin(), steps.end()}, stream});
            state_of(rank).polls_left = polls_until_ready;
        });
    }
    /// The number of batches that must be done before an event has passed. Batches that are not accepted yet
    /// are behind the event.
    std::size_t batches_before_event(int rank, Stream stream) {
        return get([&] {
            auto const& own = state_of(rank);
            auto count = own.taken;
            while (count > 0 && own.batches[count - 1].stream != stream) --count;
            return count;
        });
    }
    bool is_done(std::size_t batches) {
        return get([&] {
            while (can_go_on()) do_next();
            return done_ >= batches;
        });
    }
    std::byte* allocate(std::size_t size_bytes) {
        return get([&] { return memory_.emplace_back(size_bytes).data(); });
    }
    void abort(int rank) {
        set([&] { state_of(rank).is_aborted = true; });
    }
    void finish(int rank) {
        set([&] { state_of(rank).has_finished = true; });
    }

private:
    struct Batch {
        std::vector<DeviceStep> steps;
        Stream stream;
    };
    struct RankState {
        std::string id;
        int polls_left = 0;
        std::size_t taken = 0;
        std::vector<Batch> batches;
        bool is_broken = false, is_aborted = false, has_finished = false;
    };

    template <class Body>
    void set(Body const& body) {
        std::lock_guard const lock(mutex_);
        body();
    }
    template <class Body>
    std::invoke_result_t<Body> get(Body const& body) {
        std::lock_guard const lock(mutex_);
        return body();
    }
    RankState& state_of(int rank) { return states_[static_cast<std::size_t>(rank)]; }

    bool can_go_on() const {
        if (is_held_) return false;
        return std::ranges::all_of(states_, [this](RankState const& state) { return state.taken > done_; });
    }

    void do_next() {
        std::vector<std::vector<DeviceStep> const*> all;
        for (auto const& state : states_) all.push_back(&state.batches[done_].steps);
        ++done_;
        auto const action = all[0]->back().action;
        if (action == DeviceAction::receive) return exchange(all);
        if (action == DeviceAction::broadcast) return broadcast(all);
        if (action == DeviceAction::allgather) return allgather(all);
        reduce(all);
    }

    static std::size_t bytes_of(DeviceStep const& work) {
        return work.count * collectives::size_of(work.type);
    }
    static void copy(void* to, void const* from, std::size_t size) {
        if (to != nullptr && size != 0) std::memmove(to, from, size);
    }

    using Works = std::vector<std::vector<DeviceStep> const*>;

    static void broadcast(Works const& all) {
        auto const& root = all[static_cast<std::size_t>(all[0]->front().peer.value)]->front();
        for (auto const* steps : all) copy(steps->front().out, root.in, bytes_of(root));
    }

    static void allgather(Works const& all) {
        auto const size = bytes_of(all[0]->front());
        std::vector<std::byte> whole(size * all.size());
        for (std::size_t i = 0; i < all.size(); ++i) copy(whole.data() + i * size, all[i]->front().in, size);
        for (auto const* steps : all) copy(steps->front().out, whole.data(), whole.size());
    }

    static void exchange(Works const& all) {
        for (auto const* steps : all) {
            auto const& first = steps->front();
            if (first.action == DeviceAction::copy) copy(first.out, first.in, bytes_of(first));
        }
        for (std::size_t to = 0; to < all.size(); ++to) {
            for (auto const& receive : *all[to]) {
                if (receive.action != DeviceAction::receive) continue;
                for (auto const& send : *all[static_cast<std::size_t>(receive.peer.value)]) {
                    bool const is_it =
                        send.action == DeviceAction::send && send.peer.value == static_cast<int>(to);
                    if (is_it) copy(receive.out, send.in, bytes_of(send));
                }
            }
        }
    }

    static void reduce(Works const& all) {
        auto const& first = all[0]->front();
        bool const is_scattered = first.action == DeviceAction::reduce_scatter;
        auto const count = is_scattered ? first.count * all.size() : first.count;
        std::vector<std::byte> whole(count * collectives::size_of(first.type));
        std::vector<std::byte const*> sources;
        for (auto const* steps : all) sources.push_back(static_cast<std::byte const*>(steps->front().in));
        collectives::Destination const destination{whole.data()};
        if (all.size() == 1) {
            copy(whole.data(), sources[0], whole.size());
        } else {
            collectives::reduce(first.type, first.op, sources, std::span(&destination, 1), count);
        }
        auto const part = whole.size() / all.size();
        for (std::size_t i = 0; i < all.size(); ++i) {
            auto* const out = all[i]->front().out;
            if (is_scattered) {
                copy(out, whole.data() + i * part, part);
            } else {
                copy(out, whole.data(), whole.size());
            }
        }
    }

    std::mutex mutex_;
    std::vector<RankState> states_;
    std::list<std::vector<std::byte>> memory_;
    bool is_held_ = false;
    std::size_t done_ = 0;
    int ids_made_ = 0;
};

/// An event after batches of work and copies. has_passed() does the copies when the batches are done.
class FakeEvent final : public DeviceEvent {
public:
    using Copies = std::vector<tensor::DeviceCopy>;

    FakeEvent(FakeDevices& devices, std::size_t batches, Copies copies)
        : devices_(devices), batches_(batches), copies_(std::move(copies)) {}
    Result<bool> has_passed() override {
        if (!devices_.is_done(batches_)) return false;
        for (auto const& copy : std::exchange(copies_, {})) {
            devices_.copy_memory(copy.to, copy.from, copy.size_bytes);
            ++devices_.copies_done;
        }
        return true;
    }
    void* handle() const override { return const_cast<FakeEvent*>(this); }

private:
    FakeDevices& devices_;
    std::size_t batches_;
    Copies copies_;
};

/// The memory exists until the devices are destroyed, because work on the stream may be done late.
class FakeScratch final : public DeviceScratch {
public:
    explicit FakeScratch(std::byte* memory) : memory_(memory) {}
    void* data() const override { return memory_; }

private:
    std::byte* memory_;
};

class FakeStream final : public DeviceStream {
public:
    Stream handle() const override { return const_cast<FakeStream*>(this); }
};

class FakeCommunicator final : public DeviceCommunicator {
public:
    FakeCommunicator(FakeDevices& devices, int rank) : devices_(devices), rank_(rank) {}
    Result<bool> is_ready() override { return devices_.is_ready(rank_); }
    Status enqueue(std::span<DeviceStep const> steps, Stream stream) override {
        devices_.enqueue(rank_, steps, stream);
        return Ok{};
    }
    Status begin_finish() override {
        devices_.finish(rank_);
        return Ok{};
    }
    void abort() noexcept override { devices_.abort(rank_); }

private:
    FakeDevices& devices_;
    int rank_;
};

class FakeBackend final : public DeviceBackend {
public:
    FakeBackend(FakeDevices& devices, int rank) : devices_(devices), rank_(rank) {}
    bool is_device_memory(void const* memory) const override { return devices_.is_device_memory(memory); }
    Result<bool> is_capturing(Stream stream) const override { return devices_.is_capturing(rank_, stream); }
    Status load_communication_library() override {
        if (devices_.rank_without_library != rank_) return Ok{};
        return Error{codes::transport, "cannot use 'libnccl.so.2'"};
    }
    Result<std::string> make_id() override { return devices_.make_id(); }
    Result<std::unique_ptr<DeviceCommunicator>> begin_connect(std::string const& id, Rank rank,
                                                              int) override {
        devices_.connect(rank.value, id);
        return Result<std::unique_ptr<DeviceCommunicator>>(
            std::make_unique<FakeCommunicator>(devices_, rank.value));
    }
    Result<std::unique_ptr<DeviceScratch>> allocate(std::size_t size_bytes, Stream) override {
        return Result<std::unique_ptr<DeviceScratch>>(
            std::make_unique<FakeScratch>(devices_.allocate(size_bytes)));
    }
    Result<tensor::PinGuard> pin(std::span<std::byte>) override {
        ++devices_.pinned_now;
        return tensor::PinGuard(&devices_, [](FakeDevices* devices) { --devices->pinned_now; });
    }
    Status copy(tensor::CopyDirection, tensor::DeviceCopy const& copy, Stream) override {
        if (--devices_.copies_until_broken < 0) return Error{codes::transport, "cannot copy: it broke"};
        copies_.push_back(copy);
        return Ok{};
    }
    Result<std::unique_ptr<DeviceStream>> make_stream() override {
        return Result<std::unique_ptr<DeviceStream>>(std::make_unique<FakeStream>());
    }
    Result<std::unique_ptr<DeviceEvent>> record(Stream stream) override {
        return Result<std::unique_ptr<DeviceEvent>>(std::make_unique<FakeEvent>(
            devices_, devices_.batches_before_event(rank_, stream), std::exchange(copies_, {})));
    }

private:
    FakeDevices& devices_;
    int rank_;
    FakeEvent::Copies copies_;  // put on the stream since the last event
};

}  // namespace det::collectives::device
