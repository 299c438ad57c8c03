// Schedules in which each rank begins or ends with the block that has its own number: rings, halving,
// doubling.
#include <bit>

#include "schedule_steps.hpp"

namespace det::collectives {
namespace {

bool is_power_of_two(int ranks) { return std::has_single_bit(static_cast<unsigned>(ranks)); }

/// Each rank sends block after block to the right, beginning with block `first`, and receives or combines the
/// blocks before those from the left.
Schedule ring(int rank, int ranks, int first, Action action) {
    Rank const left{wrap(rank - 1, ranks)}, right{wrap(rank + 1, ranks)};
    Schedule schedule{ranks};
    for (int block = first; block > first - (ranks - 1); --block) {
        add(schedule, Action::send, right, one(wrap(block, ranks)));
        add(schedule, action, left, one(wrap(block - 1, ranks)));
    }
    return schedule;
}

/// In each step a rank sends the half of its blocks that does not hold its own block, until one block is
/// left.
Schedule halving(int rank, int ranks) {
    Schedule schedule{ranks};
    BlockRange mine{0, ranks};
    for (int distance = ranks / 2; distance > 0; distance /= 2) {
        int const middle = mine.begin + distance;
        BlockRange const lower{mine.begin, middle}, upper{middle, mine.end};
        bool const keeps_upper = (rank & distance) != 0;
        Rank const peer{rank ^ distance};
        mine = keeps_upper ? upper : lower;
        add(schedule, Action::send, peer, keeps_upper ? lower : upper);
        add(schedule, combining({rank}, peer), peer, mine);
    }
    return schedule;
}

Schedule doubling(int rank, int ranks) {
    Schedule schedule{ranks};
    for (int distance = 1; distance < ranks; distance *= 2) {
        int const own = rank / distance * distance, theirs = own ^ distance;
        Rank const peer{rank ^ distance};
        add(schedule, Action::send, peer, {own, own + distance});
        add(schedule, Action::receive, peer, {theirs, theirs + distance});
    }
    return schedule;
}

/// Bruck's algorithm, for any number of ranks. A rank holds `distance` blocks, beginning with its own. It
/// receives as many more (at most those that are missing) from the rank whose own block is the next one.
Schedule doubling_round(int rank, int ranks) {
    Schedule schedule{ranks};
    for (int distance = 1; distance < ranks; distance *= 2) {
        int const count = std::min(distance, ranks - distance);
        add_wrapped(schedule, Action::send, {wrap(rank - distance, ranks)}, rank, count);
        add_wrapped(schedule, Action::receive, {wrap(rank + distance, ranks)}, rank + distance, count);
    }
    return schedule;
}

/// The reverse of doubling_round: a rank receives and combines the blocks that it sends in doubling_round.
Schedule halving_round(int rank, int ranks) {
    Schedule schedule{ranks};
    auto const last = static_cast<int>(std::bit_floor(static_cast<unsigned>(ranks - 1)));
    for (int distance = last; distance > 0; distance /= 2) {
        int const count = std::min(distance, ranks - distance);
        Rank const from{wrap(rank - distance, ranks)};
        add_wrapped(schedule, Action::send, {wrap(rank + distance, ranks)}, rank + distance, count);
        add_wrapped(schedule, combining({rank}, from), from, rank, count);
    }
    return schedule;
}

}  // namespace

Schedule reduce_scatter_schedule(SchedulePlan const& plan) {
    int const rank = plan.rank.value;
    auto schedule = plan.algorithm == Algorithm::ring
                        ? ring(rank, plan.ranks, rank - 1, Action::combine_below)
                    : is_power_of_two(plan.ranks) ? halving(rank, plan.ranks)
                                                  : halving_round(rank, plan.ranks);
    add(schedule, Action::finish, plan.rank, one(rank));
    return schedule;
}

Schedule allgather_schedule(SchedulePlan const& plan) {
    int const rank = plan.rank.value;
    if (plan.algorithm == Algorithm::ring) return ring(rank, plan.ranks, rank, Action::receive);
    return is_power_of_two(plan.ranks) ? doubling(rank, plan.ranks) : doubling_round(rank, plan.ranks);
}

}  // namespace det::collectives
