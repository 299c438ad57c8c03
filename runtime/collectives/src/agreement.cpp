#include "agreement.hpp"

#include <algorithm>

namespace det::collectives {
namespace {

using transport::Fit;

std::string difference(Head const& below, Head const& above) {
    return describe_difference(below.call, {below.rank}, above.call, {above.rank});
}

/// Merges a received message. If both messages hold a failure, the reason of the lower ranks is kept.
void join(Message& mine, Message const& theirs, Side side, Merge const& merge) {
    auto const ours = mine.head();
    auto const head = theirs.head();
    bool const we_agreed = ours.verdict == Verdict::agreed;
    bool const they_agreed = head.verdict == Verdict::agreed;
    if (we_agreed && they_agreed) {
        if (ours.call == head.call) {
            merge(mine, theirs, side);
        } else {
            mine.fail(side == Side::below ? difference(head, ours) : difference(ours, head), Cause::misuse);
        }
    } else if (!they_agreed && (we_agreed || side == Side::below)) {
        mine.fail(theirs.reason(), head.cause);
    }
    auto joined = mine.head();
    joined.rank = std::min(ours.rank, head.rank);
    mine.set_head(joined);
}

Status receive(Channel channel, Rank from, Message& message) {
    DET_TRY_ASSIGN(auto const size, channel.peers.receive(from, channel.tag, message.room(), Fit::at_most));
    return message.set_size(size, from);
}

Status exchange(Channel channel, Rank peer, Message const& mine, Message& theirs) {
    DET_TRY_ASSIGN(auto const size, channel.peers.exchange({peer, mine.bytes()},
                                                           {peer, theirs.room(), Fit::at_most}, channel.tag));
    return theirs.set_size(size, peer);
}

Side side_of(Action action) { return action == Action::combine_below ? Side::below : Side::above; }

bool is_exchange(Step const& step, Step const& next) {
    return step.action == Action::send && next.peer == step.peer &&
           (next.action == Action::combine_below || next.action == Action::combine_above);
}

Status follow(Channel channel, Step const& step, Message& mine, Message& theirs, Merge const& merge) {
    switch (step.action) {
        case Action::send:
            return channel.peers.send(step.peer, channel.tag, mine.bytes());
        case Action::receive:
            return receive(channel, step.peer, mine);
        case Action::combine_below:
        case Action::combine_above:
            DET_TRY(receive(channel, step.peer, theirs));
            join(mine, theirs, side_of(step.action), merge);
            break;
        case Action::finish:
            break;
    }
    return Ok{};
}

}  // namespace

Schedule agreement_schedule(Rank rank, int ranks) {
    if (ranks == 1) return {};
    return allreduce_schedule({.algorithm = Algorithm::recursive_doubling, .rank = rank, .ranks = ranks});
}

Result<Verdict> agree(Channel channel, Schedule const& schedule, Message& mine, Message& theirs,
                      Merge const& merge) {
    auto const& steps = schedule.steps;
    for (std::size_t i = 0; i < steps.size(); ++i) {
        if (i + 1 == steps.size() || !is_exchange(steps[i], steps[i + 1])) {
            DET_TRY(follow(channel, steps[i], mine, theirs, merge));
        } else {
            DET_TRY(exchange(channel, steps[i].peer, mine, theirs));
            join(mine, theirs, side_of(steps[++i].action), merge);
        }
    }
    return mine.head().verdict;
}

}  // namespace det::collectives
