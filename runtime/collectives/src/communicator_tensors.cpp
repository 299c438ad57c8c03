// The tensor operations of a Communicator, after begin(): each agrees, and moves the data that the agreement
// does not carry.
#include <det/collectives/reduction.hpp>
#include <det/foundation/text.hpp>

#include <algorithm>
#include <cstring>
#include <fmt/format.h>

#include "algorithm_selection.hpp"
#include "communicator.hpp"

namespace det::collectives {
namespace {

using transport::MutableBytes;

/// Divides `all` into `ranks` equal parts and returns the one with number `part`.
template <class Bytes>
Bytes part_of_all(Bytes all, Rank part, int ranks) {
    auto const size = all.size() / static_cast<std::size_t>(ranks);
    return all.subspan(static_cast<std::size_t>(part.value) * size, size);
}

void move_bytes(MutableBytes to, std::span<std::byte const> from) {
    if (!from.empty()) std::memmove(to.data(), from.data(), from.size());
}

/// The size by which the table chooses an algorithm: that of the output or of the input, whichever is larger.
std::size_t size_for_choice(TensorCall const& call) {
    bool const ends_in_out = call.kind == Kind::broadcast || call.kind == Kind::allgather_elements;
    if (ends_in_out) return bytes_of(call.out).size();
    // float16 and bfloat16 are combined as float32.
    bool const is_widened = call.kind != Kind::all_to_all && is_half(call.in.type);
    return is_widened ? call.in.count * sizeof(float) : bytes_of(call.in).size();
}

/// A copy of a tensor in which elements are combined. float16 and bfloat16 are converted to float32.
class Copy {
public:
    explicit Copy(ConstTensor tensor)
        : given_(tensor.type), used_(is_half(given_) ? DataType::float32 : given_), count_(tensor.count) {
        memory_.resize(count_ * size_of(used_));
        if (used_ == given_) {
            move_bytes(memory_, bytes_of(tensor));
        } else {
            widen(given_, bytes_of(tensor).data(), floats(), count_);
        }
    }

    Tensor tensor() { return {memory_.data(), count_, used_}; }

    /// Writes the elements that begin at index `begin` to `out`, converted to the caller's type.
    void give(Tensor out, std::size_t begin) {
        auto* const from = memory_.data() + begin * size_of(used_);
        if (used_ == given_) {
            move_bytes(bytes_of(out), {from, bytes_of(out).size()});
        } else {
            narrow(given_, floats() + begin, bytes_of(out).data(), out.count);
        }
    }

private:
    float* floats() { return reinterpret_cast<float*>(memory_.data()); }

    DataType given_;
    DataType used_;
    std::size_t count_;
    std::vector<std::byte> memory_;
};

}  // namespace

bool Communicator::is_forced(Kind kind) const {
    return tuning_.algorithm && std::ranges::count(algorithms_of(kind), *tuning_.algorithm) > 0;
}

Algorithm Communicator::algorithm_for(Kind kind, std::size_t size_bytes) const {
    return is_forced(kind) ? *tuning_.algorithm : choose(kind, size(), size_bytes).algorithm;
}

void Communicator::explain(Kind kind, std::size_t size_bytes, Algorithm algorithm) {
    if (tuning_.explain == nullptr || !explained_.emplace(kind, size_bytes).second) return;
    auto const why =
        is_forced(kind) ? "set by Tuning::algorithm" : describe(choose(kind, size(), size_bytes));
    auto const described = describe(Call{.kind = kind});
    auto const name = described.substr(0, described.find('('));
    tuning_.explain(fmt::format("{} of {} over {} ranks: {} ({})", name, format_size(size_bytes), size(),
                                name_of(algorithm), why));
}

SchedulePlan Communicator::plan_for(Kind kind, std::size_t size_bytes, Rank root) {
    auto const algorithm = algorithm_for(kind, size_bytes);
    explain(kind, size_bytes, algorithm);
    return {.kind = kind,
            .algorithm = algorithm,
            .rank = rank(),
            .ranks = size(),
            .root = root,
            .segments = segments_for(algorithm, size_bytes, tuning_.segment_bytes)};
}

Status Communicator::move_by(Schedule const& schedule, Channel channel, Blocks const& blocks) {
    return run_schedule(channel, schedule, blocks, {tuning_.segment_bytes, {}});
}

Status Communicator::combine_by(SchedulePlan const& plan, Channel channel, Tensor tensor, ReduceOp op) {
    auto const bytes = bytes_of(tensor);
    auto const element = size_of(tensor.type);
    auto const longest = std::max(tuning_.segment_bytes / element, std::size_t{1}) * element;
    auto const piece = std::min(longest, bytes.size());
    segments_.resize(2 * piece);
    Reduction const reduction{
        [&](auto values, auto others, Side side) { combine(tensor.type, op, values, others, side); },
        [&](auto values) {
            if (op == ReduceOp::mean) finish_mean(tensor.type, values, size());
        }};
    auto const schedule = schedule_of(plan);
    return run_schedule(channel, schedule, equal_blocks(bytes, element, schedule.blocks), {piece, segments_},
                        reduction);
}

std::string Communicator::algorithm_name(TensorCall const& call) const {
    auto const size_bytes = size_for_choice(call);
    auto const travels =
        call.kind == Kind::all_to_all ? size_bytes * static_cast<std::size_t>(size()) : size_bytes;
    auto const algorithm =
        is_small(travels) ? "within the agreement" : name_of(algorithm_for(call.kind, size_bytes));
    return fmt::format("{}, {}", transport_->name(), algorithm);
}

Status Communicator::run_begun(Channel channel, TensorCall const& call) {
    if (size() == 1) {
        if (call.kind != Kind::broadcast) move_bytes(bytes_of(call.out), bytes_of(call.in));
        return Ok{};
    }
    switch (call.kind) {
        case Kind::broadcast:
            return broadcast(channel, call.out, call.root);
        case Kind::reduce:
        case Kind::reduce_scatter:
            return reduce_in_copy(channel, call);
        case Kind::allgather_elements:
            return allgather_parts(channel, call);
        case Kind::all_to_all:
            return exchange_parts(channel, call);
        default:
            break;
    }
    move_bytes(bytes_of(call.out), bytes_of(call.in));
    return allreduce(channel, call.out, call.op);
}

Status Communicator::reduce_in_copy(Channel channel, TensorCall const& call) {
    Copy copy(call.in);
    auto const size_bytes = bytes_of(copy.tensor()).size();
    if (is_small(size_bytes)) {
        DET_TRY(allreduce_small(channel, copy.tensor(), call.op));
    } else {
        DET_TRY(agree_before_schedule(channel));
        DET_TRY(combine_by(plan_for(call.kind, size_bytes, call.root), channel, copy.tensor(), call.op));
    }
    if (call.kind == Kind::reduce_scatter)
        copy.give(call.out, static_cast<std::size_t>(rank().value) * call.out.count);
    if (call.kind == Kind::reduce && rank() == call.root) copy.give(call.out, 0);
    return Ok{};
}

Status Communicator::allgather_parts(Channel channel, TensorCall const& call) {
    auto const out = bytes_of(call.out);
    if (is_small(out.size())) {
        mine_.append(bytes_of(call.in));
        DET_TRY(agree(channel, merge_entries));
        copy_payload(out);
        return Ok{};
    }
    DET_TRY(agree_before_schedule(channel));
    move_bytes(part_of_all(out, rank(), size()), bytes_of(call.in));
    return move_by(schedule_of(plan_for(call.kind, out.size())), channel,
                   equal_blocks(out, size_of(call.out.type), size()));
}

/// Small parts are sent to all ranks within the agreement, and each rank copies the parts for it.
Status Communicator::exchange_parts(Channel channel, TensorCall const& call) {
    auto const in = bytes_of(call.in);
    auto const out = bytes_of(call.out);
    if (is_small(in.size() * static_cast<std::size_t>(size()))) {
        mine_.append(in);
        DET_TRY(agree(channel, merge_entries));
        auto const all = std::as_const(mine_).payload();
        for (int from = 0; from < size(); ++from)
            move_bytes(part_of_all(out, {from}, size()),
                       part_of_all(part_of_all(all, {from}, size()), rank(), size()));
        return Ok{};
    }
    DET_TRY(agree_before_schedule(channel));
    std::vector<std::byte> outgoing(in.begin(), in.end());  // a copy, because the call may be in place
    move_bytes(part_of_all(out, rank(), size()), part_of_all(std::span(outgoing), rank(), size()));
    auto blocks = equal_blocks(outgoing, size_of(call.in.type), size());
    auto const incoming = equal_blocks(out, size_of(call.out.type), size());
    blocks.insert(blocks.end(), incoming.begin(), incoming.end());
    return move_by(schedule_of(plan_for(call.kind, in.size())), channel, blocks);
}

}  // namespace det::collectives
