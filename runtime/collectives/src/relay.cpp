#include "relay.hpp"

#include <algorithm>

namespace det::collectives {
namespace {

using transport::MutableBytes;
using transport::Request;

Rank from_root(int distance, Rank root, int ranks) { return {(root.value + distance) % ranks}; }

Status finish_all(std::vector<Request>& requests) {
    for (auto& request : requests) DET_TRY(request.finish());
    requests.clear();
    return Ok{};
}

/// To all children; what was sent before is finished first, so that one segment is under way at a time.
Status pass_on(Channel channel, Relay const& plan, MutableBytes segment, std::vector<Request>& sending) {
    DET_TRY(finish_all(sending));
    for (auto const child : plan.children) {
        DET_TRY_ASSIGN(auto request, channel.peers.start_send(child, channel.tag, segment));
        sending.push_back(std::move(request));
    }
    return Ok{};
}

}  // namespace

Relay binomial_tree(Rank rank, Rank root, int ranks) {
    int const distance = (rank.value - root.value + ranks) % ranks;
    Relay plan;
    int bit = 1;
    while (bit < ranks && (distance & bit) == 0) bit *= 2;
    if (distance != 0) plan.parent = from_root(distance - bit, root, ranks);
    // The child with the largest part of the tree comes first.
    for (bit /= 2; bit > 0; bit /= 2) {
        if (distance + bit < ranks) plan.children.push_back(from_root(distance + bit, root, ranks));
    }
    return plan;
}

Relay chain(Rank rank, Rank root, int ranks) {
    int const distance = (rank.value - root.value + ranks) % ranks;
    Relay plan;
    if (distance != 0) plan.parent = from_root(distance - 1, root, ranks);
    if (distance + 1 < ranks) plan.children.push_back(from_root(distance + 1, root, ranks));
    return plan;
}

Status relay(Channel channel, Relay const& plan, MutableBytes bytes, std::size_t segment_bytes) {
    auto const segment = [&](std::size_t begin) {
        return bytes.subspan(begin, std::min(segment_bytes, bytes.size() - begin));
    };
    auto const ask_for = [&](std::size_t begin) {
        return channel.peers.start_receive(*plan.parent, channel.tag, segment(begin));
    };
    std::vector<Request> sending;
    std::optional<Request> next;
    if (plan.parent && !bytes.empty()) {
        DET_TRY_ASSIGN(next, ask_for(0));
    }
    for (std::size_t begin = 0; begin < bytes.size(); begin += segment_bytes) {
        auto const end = begin + segment(begin).size();
        if (next) DET_TRY(next->finish());
        next.reset();
        if (plan.parent && end < bytes.size()) {
            DET_TRY_ASSIGN(next, ask_for(end));
        }
        DET_TRY(pass_on(channel, plan, segment(begin), sending));
    }
    return finish_all(sending);
}

}  // namespace det::collectives
