#include "ring.hpp"

#include <algorithm>
#include <optional>

namespace det::collectives {
namespace {

using transport::Bytes;
using transport::MutableBytes;
using transport::Request;

struct Neighbours {
    Rank left;
    Rank right;
};

Neighbours neighbours_of(Channel channel) {
    int const rank = channel.peers.rank().value, ranks = channel.peers.size();
    return {{(rank + ranks - 1) % ranks}, {(rank + 1) % ranks}};
}

MutableBytes block_at(Blocks const& blocks, int index) {
    auto const count = static_cast<int>(blocks.size());
    return blocks[static_cast<std::size_t>((index % count + count) % count)];
}

}  // namespace

Status ring_allgather(Channel channel, Blocks const& blocks, int own) {
    auto const [left, right] = neighbours_of(channel);
    for (int step = 0; step < channel.peers.size() - 1; ++step) {
        auto const out = block_at(blocks, own - step);
        auto const in = block_at(blocks, own - step - 1);
        std::optional<Request> receiving, sending;
        if (!in.empty()) {
            DET_TRY_ASSIGN(receiving, channel.peers.start_receive(left, channel.tag, in));
        }
        if (!out.empty()) {
            DET_TRY_ASSIGN(sending, channel.peers.start_send(right, channel.tag, out));
        }
        if (receiving) DET_TRY(receiving->finish());
        if (sending) DET_TRY(sending->finish());
    }
    return Ok{};
}

}  // namespace det::collectives
