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

/// A block in pieces: the last one may be shorter.
struct Pieces {
    MutableBytes block;
    std::size_t size_bytes;

    std::size_t count() const { return (block.size() + size_bytes - 1) / size_bytes; }
    MutableBytes at(std::size_t index) const {
        auto const begin = index * size_bytes;
        return block.subspan(begin, std::min(size_bytes, block.size() - begin));
    }
};

/// One step: our block to the right, while what comes from the left is combined piece by piece; the next
/// piece is already on its way then.
class ReduceStep {
public:
    ReduceStep(Channel channel, Segments segments, Combine const& combine)
        : channel_(channel), neighbours_(neighbours_of(channel)), segments_(segments), combine_(combine) {}

    Status run(MutableBytes outgoing, MutableBytes incoming) {
        Pieces const out{outgoing, segments_.size_bytes}, in{incoming, segments_.size_bytes};
        if (in.count() != 0) DET_TRY(ask_for(in, 0));
        for (std::size_t i = 0; i < std::max(out.count(), in.count()); ++i) {
            std::optional<Request> sending;
            if (i < out.count()) {
                DET_TRY_ASSIGN(sending,
                               channel_.peers.start_send(neighbours_.right, channel_.tag, out.at(i)));
            }
            if (i + 1 < in.count()) DET_TRY(ask_for(in, i + 1));
            if (i < in.count()) DET_TRY(take(in, i));
            if (sending) DET_TRY(sending->finish());
        }
        return Ok{};
    }

private:
    MutableBytes room_for(Pieces const& in, std::size_t index) {
        return segments_.received.subspan(index % 2 * segments_.size_bytes, in.at(index).size());
    }
    Status ask_for(Pieces const& in, std::size_t index) {
        DET_TRY_ASSIGN(receiving_[index % 2],
                       channel_.peers.start_receive(neighbours_.left, channel_.tag, room_for(in, index)));
        return Ok{};
    }
    Status take(Pieces const& in, std::size_t index) {
        DET_TRY(receiving_[index % 2]->finish());
        combine_(in.at(index), room_for(in, index));
        return Ok{};
    }

    Channel channel_;
    Neighbours neighbours_;
    Segments segments_;
    Combine const& combine_;
    std::optional<Request> receiving_[2];
};

}  // namespace

Blocks split_evenly(MutableBytes bytes, std::size_t element_size, int ranks) {
    auto const parts = static_cast<std::size_t>(ranks);
    auto const elements = bytes.size() / element_size;
    Blocks blocks;
    std::size_t begin = 0;
    for (std::size_t i = 0; i < parts; ++i) {
        auto const size = (elements / parts + (i < elements % parts ? 1 : 0)) * element_size;
        blocks.push_back(bytes.subspan(begin, size));
        begin += size;
    }
    return blocks;
}

int block_of(Rank rank, int ranks) { return (rank.value + 1) % ranks; }

Status ring_reduce_scatter(Channel channel, Blocks const& blocks, Segments segments, Combine const& combine) {
    int const rank = channel.peers.rank().value;
    for (int step = 0; step < channel.peers.size() - 1; ++step) {
        ReduceStep reduce(channel, segments, combine);
        DET_TRY(reduce.run(block_at(blocks, rank - step), block_at(blocks, rank - step - 1)));
    }
    return Ok{};
}

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
