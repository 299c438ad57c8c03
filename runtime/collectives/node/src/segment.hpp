#pragma once
#include <det/collectives/call.hpp>
#include <det/collectives/node/node_group.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <sched.h>

namespace det::collectives::node {

/// Two lines, because processors fetch them in pairs: what one rank writes and others poll shares them with
/// nothing.
inline constexpr std::size_t apart_bytes = 128;
inline constexpr std::size_t line_bytes = 64;
inline constexpr std::size_t signature_bytes = sizeof(std::uint64_t);
inline constexpr std::size_t payload_bytes = apart_bytes - signature_bytes;
inline constexpr std::size_t first_payload_bytes = line_bytes - signature_bytes;  // in the line of the stamp
inline constexpr std::size_t text_limit_bytes = 768;

using Bytes = std::span<std::byte const>;
using Payload = std::array<std::byte, payload_bytes>;

/// How a rank arrives at an operation: which number it is and what was called (see stamp_of), and the data
/// where it is tiny; in one line where that is enough. Two per rank, for operations of even and odd number:
/// whoever writes one has seen all others arrive at the operation between, so they have read what it held
/// before.
struct alignas(apart_bytes) Cell {
    std::atomic<std::uint64_t> signature;
    Payload payload;
};

/// A count that one rank writes and others wait for.
struct alignas(apart_bytes) Counter {
    std::atomic<std::uint64_t> value;
};

/// What a rank tells the others beside operations.
struct alignas(apart_bytes) Flag {
    std::atomic<std::uint64_t> value;
};

/// Rounds of exchanges that a rank has behind it, counted over the life of the group: the same on all ranks
/// between two operations.
struct Rounds {
    Counter published, reduced, collected;
};

/// Why a rank does not take part as it was asked to: by what it was called with, or by what became of others.
enum class Refusal : std::uint32_t { none, misuse, lost_rank, timeout };

/// What a rank called, written out where ranks differ.
struct alignas(apart_bytes) CallRecord {
    std::atomic<std::uint64_t> sequence;  // of the operation, plus 1
    collectives::Call call;
    Refusal refusal;
    std::uint32_t reason_size;
    char reason[text_limit_bytes];
};

enum class Presence : std::uint32_t { absent, arriving, present, left };

/// Who a rank is.
struct alignas(apart_bytes) Member {
    std::atomic<Presence> presence;
    std::int32_t pid;
    std::uint64_t pid_namespace;
    cpu_set_t cores;
    char node[64];
    alignas(apart_bytes) std::atomic<std::uint64_t> heartbeat;
};

/// What ended the group: written once.
struct alignas(apart_bytes) Failure {
    std::atomic<std::uint32_t> state;  // 0: none, 1: being written, 2: written
    std::uint32_t is_timeout;
    char text[text_limit_bytes];
};

/// Those who wait long sleep here.
struct alignas(apart_bytes) FutexWaiters {
    std::atomic<std::uint32_t> waiters;
    std::atomic<std::uint32_t> wake_ups;
};

/// The control memory, mapped.
class Segment {
public:
    static Result<UniqueFd> create(int ranks, Geometry const& geometry);
    static Result<Segment> map(int fd);
    Segment(Segment&& other) noexcept;
    Segment& operator=(Segment&&) = delete;
    ~Segment();

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
    /// Where a rank leaves small data for an operation: two places per rank, as with cells. Two ranks have
    /// one each and change seats after every operation, so that each writes where it has just read.
    std::byte* small(std::uint64_t sequence, int rank) const {
        auto const turn = static_cast<std::size_t>(sequence % 2);
        auto const own = static_cast<std::size_t>(rank);
        auto const index = ranks_ == 2 ? (turn + own) % 2 : turn * static_cast<std::size_t>(ranks_) + own;
        return memory_ + small_ + index * small_bytes();
    }
    /// Where `writer` leaves its chunk of that round for `reader`; what it leaves for all, where the two are
    /// the same.
    std::byte* chunk_slot(int writer, int reader, std::uint64_t round) const {
        auto const pair = static_cast<std::size_t>(writer * ranks_ + reader);
        auto const index = pair * geometry_.chunks_in_flight + round % geometry_.chunks_in_flight;
        return memory_ + chunk_slots_ + index * geometry_.chunk_bytes;
    }

private:
    Segment(std::byte* memory, std::size_t size, int ranks, Geometry const& geometry);
    /// Of the place of small data.
    std::size_t small_bytes() const {
        return std::max(geometry_.small_limit_bytes, ranks_ == 2 ? geometry_.pair_limit_bytes : 0);
    }
    /// Sets the places; the size of all.
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
