#include "schedule.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

#include "positions.hpp"
#include "tree.hpp"

namespace det::collectives {
namespace {

BlockRange one(int block) { return {block, block + 1}; }

int wrap(int index, int count) { return (index % count + count) % count; }

Action combining(Rank rank, Rank peer) { return peer < rank ? Action::combine_below : Action::combine_above; }

void add_exchange(Schedule& schedule, Rank peer, BlockRange out, Action action, BlockRange in) {
    schedule.steps.push_back({Action::send, peer, out});
    schedule.steps.push_back({action, peer, in});
}

/// The ranks that a power of two leaves over give their data to a neighbour first and get the result in the
/// end.
template <class AddCore>
Schedule fold(Rank rank, int ranks, int blocks, AddCore const& add_core) {
    Positions const positions(ranks);
    Schedule schedule{blocks};
    BlockRange const all{0, blocks};
    if (!positions.has_position(rank)) {
        add_exchange(schedule, {rank.value - 1}, all, Action::receive, all);
        return schedule;
    }
    Rank const partner{rank.value + 1};
    if (positions.is_paired(rank)) schedule.steps.push_back({Action::combine_above, partner, all});
    add_core(schedule, positions);
    if (positions.is_paired(rank)) schedule.steps.push_back({Action::send, partner, all});
    return schedule;
}

Schedule recursive_doubling(Rank rank, int ranks, int) {
    return fold(rank, ranks, 1, [&](Schedule& schedule, Positions const& positions) {
        for (int distance = 1; distance < positions.count(); distance *= 2) {
            auto const peer = positions.at(positions.of(rank) ^ distance);
            add_exchange(schedule, peer, one(0), combining(rank, peer), one(0));
        }
        schedule.steps.push_back({Action::finish, rank, one(0)});
    });
}

/// Rabenseifner: halves until one block is left, which is then whole; the same way back with results.
Schedule halving_doubling(Rank rank, int ranks, int) {
    auto const blocks = Positions(ranks).count();
    return fold(rank, ranks, blocks, [&](Schedule& schedule, Positions const& positions) {
        int const position = positions.of(rank);
        BlockRange mine{0, blocks};
        for (int distance = blocks / 2; distance > 0; distance /= 2) {
            int const middle = mine.begin + distance;
            BlockRange const lower{mine.begin, middle}, upper{middle, mine.end};
            bool const keeps_upper = (position & distance) != 0;
            auto const peer = positions.at(position ^ distance);
            mine = keeps_upper ? upper : lower;
            add_exchange(schedule, peer, keeps_upper ? lower : upper, combining(rank, peer), mine);
        }
        schedule.steps.push_back({Action::finish, rank, mine});
        for (int distance = 1; distance < blocks; distance *= 2) {
            bool const has_upper = (position & distance) != 0;
            BlockRange const theirs = has_upper ? BlockRange{mine.begin - distance, mine.begin}
                                                : BlockRange{mine.end, mine.end + distance};
            add_exchange(schedule, positions.at(position ^ distance), mine, Action::receive, theirs);
            mine = {std::min(mine.begin, theirs.begin), std::max(mine.end, theirs.end)};
        }
    });
}

Schedule ring(Rank rank, int ranks, int) {
    auto schedule = reduce_scatter_schedule(rank, ranks);
    int const own = wrap(rank.value + 1, ranks);
    schedule.steps.push_back({Action::finish, rank, one(own)});
    auto const gather = allgather_schedule(rank, ranks, own);
    schedule.steps.insert(schedule.steps.end(), gather.steps.begin(), gather.steps.end());
    return schedule;
}

void add_up(Schedule& schedule, Rank rank, TreePlace const& place, BlockRange segment) {
    if (place.below) schedule.steps.push_back({Action::combine_below, *place.below, segment});
    if (place.above) schedule.steps.push_back({Action::combine_above, *place.above, segment});
    if (place.parent) {
        schedule.steps.push_back({Action::send, *place.parent, segment});
    } else {
        schedule.steps.push_back({Action::finish, rank, segment});
    }
}

void add_down(Schedule& schedule, TreePlace const& place, BlockRange segment) {
    if (place.parent) schedule.steps.push_back({Action::receive, *place.parent, segment});
    if (place.below) schedule.steps.push_back({Action::send, *place.below, segment});
    if (place.above) schedule.steps.push_back({Action::send, *place.above, segment});
}

/// Each tree sees to one half of the blocks; who has children in one has none in the other, so that each rank
/// sends and receives about twice the data. What a leaf has to say it says first, and what it hears it takes
/// last: no piece of one tree waits for a piece of the other on its way through all of it.
Schedule double_tree(Rank rank, int ranks, int segments) {
    Schedule schedule{2 * segments};
    struct Half {
        TreePlace place;
        int first_block;
    };
    Half inner{tree_place(rank, ranks, Tree::first), 0},
        leaf{tree_place(rank, ranks, Tree::second), segments};
    if (!inner.place.is_inner()) std::swap(inner, leaf);
    for (auto const& half : {leaf, inner}) {
        for (int i = 0; i < segments; ++i) add_up(schedule, rank, half.place, one(half.first_block + i));
    }
    for (auto const& half : {inner, leaf}) {
        for (int i = 0; i < segments; ++i) add_down(schedule, half.place, one(half.first_block + i));
    }
    return schedule;
}

}  // namespace

Schedule reduce_scatter_schedule(Rank rank, int ranks) {
    Rank const left{wrap(rank.value - 1, ranks)}, right{wrap(rank.value + 1, ranks)};
    Schedule schedule{ranks};
    for (int step = 0; step < ranks - 1; ++step) {
        schedule.steps.push_back({Action::send, right, one(wrap(rank.value - step, ranks))});
        schedule.steps.push_back({Action::combine_below, left, one(wrap(rank.value - step - 1, ranks))});
    }
    return schedule;
}

Schedule allgather_schedule(Rank rank, int ranks, int own) {
    Rank const left{wrap(rank.value - 1, ranks)}, right{wrap(rank.value + 1, ranks)};
    Schedule schedule{ranks};
    for (int step = 0; step < ranks - 1; ++step) {
        schedule.steps.push_back({Action::send, right, one(wrap(own - step, ranks))});
        schedule.steps.push_back({Action::receive, left, one(wrap(own - step - 1, ranks))});
    }
    return schedule;
}

Schedule allreduce_schedule(Algorithm algorithm, Rank rank, int ranks, int segments) {
    assert(ranks > 1 && segments > 0);
    switch (algorithm) {
        case Algorithm::recursive_doubling:
            return recursive_doubling(rank, ranks, segments);
        case Algorithm::ring:
            return ring(rank, ranks, segments);
        case Algorithm::halving_doubling:
            return halving_doubling(rank, ranks, segments);
        case Algorithm::double_tree:
            break;
    }
    return double_tree(rank, ranks, segments);
}

}  // namespace det::collectives
