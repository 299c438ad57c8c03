#include "collective_entry.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace det::collectives::node {

using collectives::Call;

void CollectiveEntry::begin(Call const& call, Error const* refusal) {
    call_ = &call;
    refusal_ = refusal;
    differs_ = refusal != nullptr;
    signature_ = signature_of(call, differs_);
}

bool CollectiveEntry::advance(RankSlot& slot) {
    if (stage_ == Stage::recording) return advance_recording(slot);
    for (; next_ < slot.ranks; ++next_) {
        auto const theirs = slot.cell(next_).signature.load(std::memory_order_acquire);
        if (theirs == signature_) continue;
        if ((theirs & sequence_mask) != (signature_ & sequence_mask)) return false;
        differs_ = true;
    }
    if (!differs_) return true;
    write_record(slot);
    stage_ = Stage::recording;
    next_ = 0;
    return advance_recording(slot);
}

bool CollectiveEntry::advance_recording(RankSlot& slot) {
    for (; next_ < slot.ranks; ++next_) {
        auto const theirs = slot.control.call_record(next_).sequence.load(std::memory_order_acquire);
        if (theirs != call_->sequence + 1) return false;
    }
    mismatch_ = std::make_unique<Error const>(find_mismatch(slot));
    return true;
}

std::vector<int> CollectiveEntry::awaited(RankSlot const& slot) const {
    std::vector<int> ranks;
    for (int rank = 0; rank < slot.ranks; ++rank) {
        auto const signature = slot.cell(rank).signature.load(std::memory_order_acquire);
        auto const recorded = slot.control.call_record(rank).sequence.load(std::memory_order_acquire);
        bool const has_entered = stage_ == Stage::entering
                                     ? (signature & sequence_mask) == (signature_ & sequence_mask)
                                     : recorded == call_->sequence + 1;
        if (!has_entered) ranks.push_back(rank);
    }
    return ranks;
}

void CollectiveEntry::write_record(RankSlot& slot) {
    auto& call_record = slot.control.call_record(slot.rank);
    call_record.call = *call_;
    call_record.refusal = refusal_ != nullptr ? refusal_of(*refusal_) : Refusal::none;
    copy_text(refusal_ != nullptr ? slot.error_scope->with_rank(*refusal_, {slot.rank}).message : "",
              call_record.reason);
    call_record.sequence.store(call_->sequence + 1, std::memory_order_release);
    slot.wake();
}

Error CollectiveEntry::find_mismatch(RankSlot const& slot) const {
    auto const fail = [](std::string message) {
        return make_and_report_error(Refusal::misuse, std::move(message));
    };
    for (int rank = 0; rank < slot.ranks; ++rank) {
        auto const& call_record = slot.control.call_record(rank);
        if (call_record.refusal == Refusal::none) continue;
        return make_and_report_error(call_record.refusal, call_record.reason);
    }
    auto const& first = slot.control.call_record(0).call;
    for (int rank = 1; rank < slot.ranks; ++rank) {
        auto const& other = slot.control.call_record(rank).call;
        if (other != first)
            return fail(describe_difference(first, slot.error_scope->global_rank({0}), other,
                                            slot.error_scope->global_rank({rank})));
    }
    return fail("ranks disagree on an operation that all describe in the same way");
}

}  // namespace det::collectives::node
