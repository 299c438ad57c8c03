#pragma once
#include <det/collectives/call.hpp>
#include <det/collectives/node/node_group.hpp>
#include <det/liveness/futex.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <sched.h>

namespace det::collectives::node {

/// Two cache lines, because processors fetch lines in pairs. A value that one rank writes and other ranks
/// poll has two lines to itself.
inline constexpr std::size_t apart_bytes = 128;
inline constexpr std::size_t line_bytes = 64;
inline constexpr std::size_t signature_bytes = sizeof(std::uint64_t);
inline constexpr std::size_t payload_bytes = apart_bytes - signature_bytes;
inline constexpr std::size_t first_payload_bytes =
    line_bytes - signature_bytes;  // in the line of the signature
inline constexpr std::size_t text_limit_bytes = 768;

using Bytes = std::span<std::byte const>;
using Payload = std::array<std::byte, payload_bytes>;

/// A rank's entry of an operation: its signature (see signature_of) and a payload, which is its input if that
/// is tiny, and otherwise the location of tensors or the size of an object. A short payload uses only the
/// line of the signature. Each rank has two cells, for operations with even and odd numbers. A rank reuses a
/// cell after all ranks have entered the operation in between, so every rank has finished reading the old
/// contents.
struct alignas(apart_bytes) Cell {
    std::atomic<std::uint64_t> signature;
    Payload payload;
};

/// A counter that one rank writes and other ranks poll.
struct alignas(apart_bytes) Counter {
    std::atomic<std::uint64_t> value;
};

/// The flag of one rank, as collectives::SharedFlags reads and writes it.
struct alignas(apart_bytes) Flag {
    std::atomic<std::uint64_t> value;
};

/// The exchange rounds that a rank has published, reduced and collected, counted since the group began.
struct Rounds {
    Counter published, reduced, collected;
};

/// A rank's call in full, and why it refuses the call, if it does. Written if calls differ or a rank refuses.
struct alignas(apart_bytes) CallRecord {
    std::atomic<std::uint64_t> sequence;  // number of the operation, plus 1
    collectives::Call call;
    Refusal refusal;
    char reason[text_limit_bytes];
};

enum class Presence : std::uint32_t { absent, arriving, present, left };

/// A rank's process, its node and its heartbeat.
struct alignas(apart_bytes) Member {
    std::atomic<Presence> presence;
    std::int32_t pid;
    std::uint64_t pid_namespace;
    cpu_set_t cores;
    char node[64];
    alignas(apart_bytes) std::atomic<std::uint64_t> heartbeat;
};

/// The Error that ended the group. Written once.
struct alignas(apart_bytes) Failure {
    std::atomic<std::uint32_t> state;  // 0: none, 1: being written, 2: written
    std::uint32_t is_timeout;
    char text[text_limit_bytes];
};

using liveness::FutexWaiters;

/// Copies the text, or as much as there is space for, and ends it with a zero byte.
inline void copy_text(std::string_view text, std::span<char> into) {
    into[text.copy(into.data(), into.size() - 1)] = '\0';
}

/// The mapped control memory of the group.
class ControlMemory {
public:
    static Result<UniqueFd> create(int ranks, Geometry const& geometry);
    static Result<ControlMemory> map(int fd);
    ControlMemory(ControlMemory&& other) noexcept;
    ControlMemory& operator=(ControlMemory&&) = delete;
    ~ControlMemory();

    int ranks() const { return ranks_; }
    Geometry const& geometry() const { return geometry_; }

    Cell& cell(std::uint64_t sequence, int rank) const {
        return at<Cell>(cells_,
                        (sequence % 2) * static_cast<std::size_t>(ranks_) + static_cast<std::size_t>(rank));
    }
    Rounds& rounds(int rank) const { return at<Rounds>(rounds_, static_cast<std::size_t>(rank)); }
    CallRecord& call_record(int rank) const {
        return at<CallRecord>(call_records_, static_cast<std::size_t>(rank));
    }
    Member& member(int rank) const { return at<Member>(members_, static_cast<std::size_t>(rank)); }
    Flag& flag(int rank) const { return at<Flag>(flags_, static_cast<std::size_t>(rank)); }
    Failure& failure() const { return at<Failure>(failure_, 0); }
    FutexWaiters& futex_waiters() const { return at<FutexWaiters>(futex_waiters_, 0); }
    /// The buffer for a rank's small data of an operation. A rank has two, as it has two cells. Two ranks
    /// have one each and swap them after every operation, so that each rank writes where it has just read.
    std::byte* small(std::uint64_t sequence, int rank) const {
        auto const turn = static_cast<std::size_t>(sequence % 2);
        auto const own = static_cast<std::size_t>(rank);
        auto const index = ranks_ == 2 ? (turn + own) % 2 : turn * static_cast<std::size_t>(ranks_) + own;
        return memory_ + small_ + index * small_bytes();
    }
    /// The slot for the chunk of a round from `writer` to `reader`. If both are the same rank, the chunk is
    /// for all ranks.
    std::byte* chunk_slot(int writer, int reader, std::uint64_t round) const {
        auto const pair = static_cast<std::size_t>(writer * ranks_ + reader);
        auto const index = pair * geometry_.chunks_in_flight + round % geometry_.chunks_in_flight;
        return memory_ + chunk_slots_ + index * geometry_.chunk_bytes;
    }

private:
    ControlMemory(std::byte* memory, std::size_t size, int ranks, Geometry const& geometry);
    /// Size of one buffer for small data.
    std::size_t small_bytes() const {
        return std::max(geometry_.small_limit_bytes, ranks_ == 2 ? geometry_.pair_limit_bytes : 0);
    }
    /// Computes all offsets. Returns the total size.
    std::size_t lay_out();

    template <class T>
    T& at(std::size_t begin, std::size_t index) const {
        return reinterpret_cast<T*>(memory_ + begin)[index];
    }

    std::byte* memory_ = nullptr;
    std::size_t size_ = 0;
    int ranks_ = 0;
    Geometry geometry_;
    std::size_t failure_ = 0, futex_waiters_ = 0, cells_ = 0, rounds_ = 0, members_ = 0, call_records_ = 0,
                flags_ = 0, small_ = 0, chunk_slots_ = 0;
};

}  // namespace det::collectives::node
