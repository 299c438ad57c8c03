#include "agreement.hpp"

#include <algorithm>

#include "positions.hpp"

namespace det::collectives {
namespace {

using transport::Fit;

std::string difference(Head const& below, Head const& above) {
    return describe_difference(below.call, {below.rank}, above.call, {above.rank});
}

/// Takes in what another part of the ranks sent. Where both have failed, the reason of the lower ranks stays.
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

Status double_up(Channel channel, Message& mine, Message& theirs, Merge const& merge) {
    auto const rank = channel.peers.rank();
    Positions const positions(channel.peers.size());
    if (!positions.has_position(rank)) {
        Rank const spokesman{rank.value - 1};
        DET_TRY(channel.peers.send(spokesman, channel.tag, mine.bytes()));
        return receive(channel, spokesman, mine);
    }
    Rank const partner{rank.value + 1};
    if (positions.is_paired(rank)) {
        DET_TRY(receive(channel, partner, theirs));
        join(mine, theirs, Side::above, merge);
    }
    for (int distance = 1; distance < positions.count(); distance *= 2) {
        auto const peer = positions.at(positions.of(rank) ^ distance);
        DET_TRY(exchange(channel, peer, mine, theirs));
        join(mine, theirs, peer < rank ? Side::below : Side::above, merge);
    }
    if (positions.is_paired(rank)) DET_TRY(channel.peers.send(partner, channel.tag, mine.bytes()));
    return Ok{};
}

}  // namespace

Result<Verdict> agree(Channel channel, Message& mine, Message& theirs, Merge const& merge) {
    DET_TRY(double_up(channel, mine, theirs, merge));
    return mine.head().verdict;
}

}  // namespace det::collectives
