// What a Communicator does with elements beside allreduce and broadcast: in the simplest way that is right.
#include <det/collectives/reduction.hpp>

#include <algorithm>
#include <cstring>

#include "communicator.hpp"
#include "ring.hpp"

namespace det::collectives {
namespace {

using transport::MutableBytes;

void merge_nothing(Message&, Message const&, Side) {}

/// The r-th of as many equal parts as there are ranks.
template <class Bytes>
Bytes part_of(Bytes all, int part, int ranks) {
    auto const size = all.size() / static_cast<std::size_t>(ranks);
    return all.subspan(static_cast<std::size_t>(part) * size, size);
}

void move_bytes(MutableBytes to, std::span<std::byte const> from) {
    if (!from.empty()) std::memmove(to.data(), from.data(), from.size());
}

}  // namespace

Status Communicator::run_agreed(Channel channel, TensorCall const& call) {
    auto const in = bytes_of(call.in);
    auto const out = bytes_of(call.out);
    if (call.kind == Kind::allreduce) {
        move_bytes(out, in);
        return allreduce(channel, call.out, call.op);
    }
    if (call.kind == Kind::reduce || call.kind == Kind::reduce_scatter) {
        std::vector<std::byte> whole(in.begin(), in.end());
        DET_TRY(allreduce(channel, {whole.data(), call.in.count, call.in.type}, call.op));
        if (call.kind == Kind::reduce_scatter)
            move_bytes(out, part_of(std::span(whole), rank().value, size()));
        if (call.kind == Kind::reduce && rank() == call.root) move_bytes(out, whole);
        return Ok{};
    }
    DET_TRY(agree(channel, merge_nothing));
    if (call.kind == Kind::all_to_all) return exchange_parts(channel, call);
    Blocks blocks;
    for (int part = 0; part < size(); ++part) blocks.push_back(part_of(out, part, size()));
    move_bytes(blocks[static_cast<std::size_t>(rank().value)], in);
    return ring_allgather(channel, blocks, rank().value);
}

Status Communicator::exchange_parts(Channel channel, TensorCall const& call) {
    auto const bytes = bytes_of(call.in);
    std::vector<std::byte> const copied(bytes.begin(), bytes.end());  // the call may be in place
    std::span<std::byte const> const in(copied);
    auto const out = bytes_of(call.out);
    move_bytes(part_of(out, rank().value, size()), part_of(in, rank().value, size()));
    for (int distance = 1; distance < size(); ++distance) {
        Rank const to{(rank().value + distance) % size()}, from{(rank().value + size() - distance) % size()};
        DET_TRY(transport_->exchange({to, part_of(in, to.value, size())},
                                     {from, part_of(out, from.value, size())}, channel.tag));
    }
    return Ok{};
}

}  // namespace det::collectives
