#include <algorithm>
#include <fmt/format.h>
#include <thread>

#include "group.hpp"

namespace det::collectives::node {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

/// Claims the rank. Fails if another process has already claimed it.
Status claim_rank(Member& member, int rank, Options const& options) {
    auto absent = Presence::absent;
    if (!member.presence.compare_exchange_strong(absent, Presence::arriving, std::memory_order_acq_rel)) {
        return Error{codes::misuse, fmt::format("two want to be rank {} of the same ranks", rank)};
    }
    introduce(member, options);
    member.presence.store(Presence::present, std::memory_order_release);
    return Ok{};
}

bool is_present(Segment const& segment, int rank) {
    return segment.member(rank).presence.load(std::memory_order_acquire) >= Presence::present;
}

Status wait_for_all(Segment const& segment, int rank, std::chrono::milliseconds timeout) {
    auto const limit = Clock::now() + timeout;
    auto nap = 20us;
    for (int other = 0; other < segment.ranks();) {
        if (is_present(segment, other)) {
            ++other;
        } else if (Clock::now() > limit) {
            return Error{codes::timed_out, fmt::format("rank {} has waited {} ms for rank {} to join it",
                                                       rank, timeout.count(), other)};
        } else {
            std::this_thread::sleep_for(nap);
            nap = std::min<std::chrono::microseconds>(2 * nap, 1ms);
        }
    }
    return Ok{};
}

}  // namespace

Result<SharedMemory> create_shared_memory(int ranks, Geometry const& geometry) {
    if (ranks < 1) return Error{codes::misuse, fmt::format("{} ranks cannot share memory", ranks)};
    DET_TRY_ASSIGN(auto control, Segment::create(ranks, geometry));
    // If the arena cannot be created, collectives copy their data.
    auto arena = Arena::create(ranks);
    return SharedMemory{std::move(control), arena ? *std::move(arena) : UniqueFd()};
}

Result<std::unique_ptr<collectives::RankGroup>> join(SharedMemory const& memory, Rank rank, Options options) {
    DET_TRY_ASSIGN(auto segment, Segment::map(memory.control.get()));
    int const ranks = segment.ranks();
    if (rank.value < 0 || rank.value >= ranks) {
        return Error{codes::misuse, fmt::format("rank {} cannot join {} ranks", rank.value, ranks)};
    }
    std::optional<Arena> arena;
    if (memory.arena) {
        if (auto mapped = Arena::map(memory.arena.get(), ranks, rank.value))
            arena.emplace(*std::move(mapped));
    }
    DET_TRY(claim_rank(segment.member(rank.value), rank.value, options));
    DET_TRY(wait_for_all(segment, rank.value, options.join_timeout));
    return std::unique_ptr<collectives::RankGroup>(std::make_unique<NodeGroup>(
        RankSlot{std::move(segment), std::move(arena), rank.value, ranks}, std::move(options)));
}

}  // namespace det::collectives::node
