#include "arrival.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "liveness.hpp"

namespace det::collectives::node {
namespace {

using collectives::Call;

Refusal refusal_by(ErrorCode const& code) {
    return code == codes::transport   ? Refusal::lost_rank
           : code == codes::timed_out ? Refusal::timeout
                                      : Refusal::misuse;
}

Error error_of(Refusal refusal, std::string message) {
    if (refusal == Refusal::misuse)
        return {codes::misuse, std::move(message), "make the same calls in the same order on every rank"};
    return {refusal == Refusal::timeout ? codes::timed_out : codes::transport, std::move(message), loss_hint};
}

std::string describe_refusal(Seat const& seat, Error const& refusal) {
    if (!seat.voice->is_own()) return refusal.message;
    return fmt::format("rank {}: {}", seat.voice->named({seat.rank}).value, refusal.message);
}

}  // namespace

void Arrival::begin(Call const& call, Error const* refusal) {
    call_ = &call;
    refusal_ = refusal;
    differs_ = refusal != nullptr;
    stamp_ = stamp_of(call, differs_);
}

bool Arrival::advance(Seat& seat) {
    if (stage_ == Stage::stating) return advance_stating(seat);
    for (; next_ < seat.ranks; ++next_) {
        auto const theirs = seat.cell(next_).stamp.load(std::memory_order_acquire);
        if (theirs == stamp_) continue;
        if ((theirs & sequence_mask) != (stamp_ & sequence_mask)) return false;
        differs_ = true;
    }
    if (!differs_) return true;
    state_ours(seat);
    stage_ = Stage::stating;
    next_ = 0;
    return advance_stating(seat);
}

bool Arrival::advance_stating(Seat& seat) {
    for (; next_ < seat.ranks; ++next_) {
        auto const theirs = seat.segment.statement(next_).sequence.load(std::memory_order_acquire);
        if (theirs != call_->sequence + 1) return false;
    }
    objection_ = std::make_unique<Error const>(judge(seat));
    return true;
}

std::vector<int> Arrival::awaited(Seat const& seat) const {
    std::vector<int> ranks;
    for (int rank = 0; rank < seat.ranks; ++rank) {
        auto const stamp = seat.cell(rank).stamp.load(std::memory_order_acquire);
        auto const stated = seat.segment.statement(rank).sequence.load(std::memory_order_acquire);
        bool const has_come = stage_ == Stage::meeting ? (stamp & sequence_mask) == (stamp_ & sequence_mask)
                                                       : stated == call_->sequence + 1;
        if (!has_come) ranks.push_back(rank);
    }
    return ranks;
}

void Arrival::state_ours(Seat& seat) {
    auto& statement = seat.segment.statement(seat.rank);
    statement.call = *call_;
    statement.refusal = refusal_ != nullptr ? refusal_by(refusal_->code) : Refusal::none;
    auto const reason = refusal_ != nullptr ? describe_refusal(seat, *refusal_) : std::string();
    statement.reason_size = static_cast<std::uint32_t>(std::min(reason.size(), text_limit_bytes));
    std::copy_n(reason.data(), statement.reason_size, statement.reason);
    statement.sequence.store(call_->sequence + 1, std::memory_order_release);
    seat.wake();
}

Error Arrival::judge(Seat const& seat) const {
    auto const fail = [](std::string message) { return error_of(Refusal::misuse, std::move(message)); };
    for (int rank = 0; rank < seat.ranks; ++rank) {
        auto const& statement = seat.segment.statement(rank);
        if (statement.refusal == Refusal::none) continue;
        return error_of(statement.refusal, {statement.reason, statement.reason_size});
    }
    auto const& first = seat.segment.statement(0).call;
    for (int rank = 1; rank < seat.ranks; ++rank) {
        auto const& other = seat.segment.statement(rank).call;
        if (other != first)
            return fail(describe_difference(first, seat.voice->named({0}), other, seat.voice->named({rank})));
    }
    return fail("ranks disagree on an operation that all describe in the same way");
}

}  // namespace det::collectives::node
