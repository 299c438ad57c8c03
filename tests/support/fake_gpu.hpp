#pragma once
#include <deque>
#include <map>
#include <mutex>

#include "fake_device_memory.hpp"

/// The one device of the fake drivers, fake_libcuda.cpp and fake_libhip.cpp. Its memory is not accessible to
/// the process. All streams are one queue; the device executes it up to an event when the event is queried
/// for the second time, and whole when something is synchronised. It stops before a copy from memory that
/// fakeHoldCopiesFrom() holds, or that fakeBreakCopiesFrom() has broken. One stream at a time may be
/// captured; a query of an event that was recorded on it makes the capture invalid, as it does on a device.
struct FakeGpu {
    struct Event {
        std::size_t copies_before = 0;
        bool was_queried = false;
        bool is_captured = false;
    };
    struct Copy {
        void* to;
        void const* from;
        std::size_t size_bytes;
    };
    enum class EventState { done, not_ready, captured, broken };
    enum class Capture { none, this_stream, other_stream };

    std::mutex mutex;  // held in every function of the drivers
    FakeDeviceMemory memory{std::size_t{256} << 20};
    std::deque<Copy> copies = {};
    std::size_t copies_queued = 0;
    std::map<std::byte const*, std::size_t> pinned = {};  // host memory and its size
    void const* captured = nullptr;                       // stream; nullptr: none
    bool is_capture_valid = true;
    void const* held = nullptr;    // nullptr: nothing
    void const* broken = nullptr;  // nullptr: nothing

    void enqueue(void* to, void const* from, std::size_t size_bytes) {
        copies.push_back({to, from, size_bytes});
        ++copies_queued;
    }
    bool has_executed(std::size_t count) const { return copies_queued - copies.size() >= count; }
    bool stops_at(void const* from) const { return from == held || from == broken; }
    void execute_until(std::size_t count) {
        while (!has_executed(count) && !stops_at(copies.front().from)) {
            memory.copy(copies.front().to, copies.front().from, copies.front().size_bytes);
            copies.pop_front();
        }
    }
    void execute_all() { execute_until(copies_queued); }

    bool is_copy_to_host(void const* to, void const* from) const {
        return !memory.holds(to) && memory.holds(from);
    }
    bool is_copy_to_device(void const* to, void const* from) const {
        return memory.holds(to) && !memory.holds(from);
    }

    bool pin(void* host, std::size_t size_bytes) {
        return pinned.emplace(static_cast<std::byte const*>(host), size_bytes).second;
    }
    bool unpin(void* host) { return pinned.erase(static_cast<std::byte const*>(host)) != 0; }
    bool is_pinned(void const* host) const {
        auto const* const at = static_cast<std::byte const*>(host);
        auto const after = pinned.upper_bound(at);
        return after != pinned.begin() && at < std::prev(after)->first + std::prev(after)->second;
    }

    void record(Event& event, void const* stream) const {
        event.is_captured = stream != nullptr && stream == captured;
        event.copies_before = copies_queued;
    }
    EventState query(Event& event) {
        if (event.is_captured) {
            is_capture_valid = false;
            return EventState::captured;
        }
        if (!event.was_queried) {
            event.was_queried = true;
            return EventState::not_ready;
        }
        execute_until(event.copies_before);
        if (has_executed(event.copies_before)) return EventState::done;
        return copies.front().from == broken ? EventState::broken : EventState::not_ready;
    }

    void begin_capture(void const* stream) {
        captured = stream;
        is_capture_valid = true;
    }
    /// Returns whether the capture is valid.
    bool end_capture() {
        captured = nullptr;
        return is_capture_valid;
    }
    /// other_stream: the default stream, which waits for the one that is captured.
    Capture capture_of(void const* stream) const {
        if (captured != nullptr && stream == nullptr) return Capture::other_stream;
        return captured != nullptr && stream == captured ? Capture::this_stream : Capture::none;
    }
};

/// The device of this library.
FakeGpu& fake_gpu();
