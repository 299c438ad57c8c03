#include "communicator.hpp"

#include <det/collectives/reduction.hpp>
#include <det/foundation/text.hpp>

#include <algorithm>
#include <cassert>
#include <fmt/format.h>
#include <utility>

#include "algorithm_selection.hpp"

namespace det::collectives {
namespace {

using transport::MutableBytes;

constexpr std::size_t reason_limit_bytes = 512;

std::size_t payload_limit(Tuning const& tuning, int ranks) {
    return std::max(entries_limit_bytes(tuning.small_limit_bytes, ranks), reason_limit_bytes);
}

Merge merge_by(Tensor tensor, ReduceOp op) {
    return [type = tensor.type, op](Message& mine, Message const& theirs, Side theirs_are) {
        combine(type, op, mine.payload(), theirs.payload(), theirs_are);
    };
}

void merge_nothing(Message&, Message const&, Side) {}

}  // namespace

Status check(Tuning const& tuning) {
    if (tuning.segment_bytes == 0) return Error{codes::misuse, "Tuning::segment_bytes is 0"};
    return Ok{};
}

Result<std::unique_ptr<RankGroup>> make_transport_group(std::unique_ptr<transport::Transport> transport,
                                                        Tuning const& tuning) {
    DET_TRY(check(tuning));
    return Result<std::unique_ptr<RankGroup>>(std::make_unique<Communicator>(std::move(transport), tuning));
}

Communicator::Communicator(std::shared_ptr<transport::Transport> transport, Tuning tuning)
    : RankGroup(transport->rank(), transport->size()),
      transport_(std::move(transport)),
      tuning_(tuning),
      agreement_(agreement_schedule(transport_->rank(), transport_->size())),
      mine_(payload_limit(tuning, transport_->size())),
      theirs_(payload_limit(tuning, transport_->size())) {}

Channel Communicator::begin(Call call, Status const& refused) {
    auto const number = sequence_++;
    call.sequence = number;
    call = error_scope().reported_call(call);
    call.small_limit_bytes = tuning_.small_limit_bytes;
    call.segment_bytes = tuning_.segment_bytes;
    if (tuning_.algorithm)
        call.algorithm = static_cast<std::uint8_t>(1 + static_cast<int>(*tuning_.algorithm));
    call_ = call;
    is_agreed_ = has_mismatch_ = false;
    mine_.clear_payload();
    mine_.set_head(Head{.call = call, .rank = error_scope().global_rank(rank()).value});
    if (!refused) {
        auto const error = error_scope().with_rank(refused.error(), rank());
        mine_.fail(error.message, refusal_of(error));
    }
    // This group uses the lower half of the tags; groups of a subset of its ranks use the upper half. No
    // operation uses the last tag of each half, which is for control channels.
    constexpr std::uint64_t tags = (transport::tag_max + 1) / 2 - 1;
    return {*transport_, {static_cast<std::uint32_t>(number % tags)}};
}

Status Communicator::agree(Channel channel, Merge const& merge) {
    DET_TRY(collectives::agree(channel, agreement_, mine_, theirs_, merge));
    has_mismatch_ = !mine_.is_agreed();
    return has_mismatch_ ? Status(mine_.error()) : Ok{};
}

Status Communicator::agree_before_schedule(Channel channel) {
    return is_agreed_ ? Status(Ok{}) : agree(channel, merge_nothing);
}

Error Communicator::with_context(Error error) const {
    error.message += fmt::format("; rank {} was in {}", error_scope().global_rank(rank()).value,
                                 describe_numbered_call(call_));
    return error;
}

Status Communicator::barrier() {
    return finish_operation(agree(begin({.kind = Kind::barrier}, Ok{}), merge_nothing));
}

Result<std::vector<std::string>> Communicator::gather(std::string value, Status const& refused) {
    return finish_operation(gather_begun(begin({.kind = Kind::gather}, refused), std::move(value)));
}

Result<std::vector<std::string>> Communicator::allgather(std::string value, Status const& refused) {
    return finish_operation(allgather_begun(begin({.kind = Kind::allgather}, refused), value));
}

Result<std::string> Communicator::broadcast(std::string value, Rank from, Status const& refused) {
    auto const channel = begin({.root = from.value, .kind = Kind::broadcast_object}, refused);
    return finish_operation(broadcast_begun(channel, std::move(value), from));
}

Status Communicator::run(TensorCall const& call, Status const& refused) {
    auto const channel = begin(call_of(call), refused);
    return finish_operation(refused ? run_begun(channel, call) : agree(channel, merge_nothing));
}

Status Communicator::run_agreed(TensorCall const& call) {
    auto const channel = begin(call_of(call), Ok{});
    is_agreed_ = true;
    return finish_operation(run_begun(channel, call));
}

Result<std::vector<Entry>> Communicator::agree_on_entries(Channel channel, std::string const& value) {
    auto const limit = whole_value_limit_bytes(tuning_.small_limit_bytes, size());
    append_entry(mine_, value, limit);
    DET_TRY(agree(channel, merge_entries));
    return read_entries(mine_, limit, size());
}

Result<std::vector<std::string>> Communicator::gather_begun(Channel channel, std::string value) {
    DET_TRY_ASSIGN(auto const entries, agree_on_entries(channel, value));
    return gather_values(channel, entries, std::move(value), chief, tuning_.segment_bytes);
}

Result<std::vector<std::string>> Communicator::allgather_begun(Channel channel, std::string const& value) {
    DET_TRY_ASSIGN(auto const entries, agree_on_entries(channel, value));
    return allgather_values(channel, entries, value, tuning_.segment_bytes);
}

Result<std::string> Communicator::broadcast_begun(Channel channel, std::string value, Rank from) {
    auto const limit = whole_value_limit_bytes(tuning_.small_limit_bytes, 1);
    bool const is_root = transport_->rank() == from;
    if (is_root) append_entry(mine_, value, limit);
    DET_TRY(agree(channel, merge_entries));
    DET_TRY_ASSIGN(auto const entries, read_entries(mine_, limit, 1));
    if (!is_root) value = begin_value(entries.front());
    if (!entries.front().is_whole()) DET_TRY(broadcast_rest(channel, memory_of(value), from));
    return value;
}

Status Communicator::broadcast(Channel channel, Tensor tensor, Rank from) {
    auto const bytes = bytes_of(tensor);
    bool const comes_along = is_small(bytes.size());
    if (comes_along && transport_->rank() == from) mine_.append(bytes);
    if (!comes_along) {
        DET_TRY(agree_before_schedule(channel));
        return broadcast_rest(channel, bytes, from);
    }
    DET_TRY(agree(channel, merge_entries));
    copy_payload(bytes);
    return Ok{};
}

Status Communicator::broadcast_rest(Channel channel, MutableBytes bytes, Rank from) {
    if (size() == 1) return Ok{};
    auto const schedule = schedule_of(plan_for(Kind::broadcast, bytes.size(), from));
    return move_by(schedule, channel, equal_blocks(bytes, 1, schedule.blocks));
}

Status Communicator::allreduce(Channel channel, Tensor tensor, ReduceOp op) {
    if (is_half(tensor.type)) return allreduce_halves(channel, tensor, op);
    auto const size_bytes = bytes_of(tensor).size();
    if (is_small(size_bytes)) return allreduce_small(channel, tensor, op);
    DET_TRY(agree_before_schedule(channel));
    return combine_by(plan_for(Kind::allreduce, size_bytes), channel, tensor, op);
}

Status Communicator::allreduce_halves(Channel channel, Tensor tensor, ReduceOp op) {
    std::vector<float> wide(tensor.count);
    auto* const bytes = bytes_of(tensor).data();
    widen(tensor.type, bytes, wide.data(), wide.size());
    DET_TRY(allreduce(channel, Tensor::of(std::span(wide)), op));
    narrow(tensor.type, wide.data(), bytes, wide.size());
    return Ok{};
}

Status Communicator::allreduce_small(Channel channel, Tensor tensor, ReduceOp op) {
    mine_.append(bytes_of(tensor));
    DET_TRY(agree(channel, merge_by(tensor, op)));
    copy_payload(bytes_of(tensor));
    if (op == ReduceOp::mean) finish_mean(tensor.type, bytes_of(tensor), transport_->size());
    return Ok{};
}

void Communicator::copy_payload(MutableBytes into) const {
    auto const payload = std::as_const(mine_).payload();
    assert(payload.size() == into.size());
    std::copy(payload.begin(), payload.end(), into.begin());
}

}  // namespace det::collectives
