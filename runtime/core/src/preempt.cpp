#include <det/core/preempt.hpp>
#include <det/preemption/preempt_channel.hpp>

#include "context_data.hpp"

namespace det::core {
/// The channel to the other ranks and the state of the agreement with them.
struct Preempt::Peers {
    explicit Peers(preemption::PreemptChannel opened)
        : channel(std::move(opened)), agreement(channel.make_agreement()) {}

    preemption::PreemptChannel channel;
    preemption::Agreement agreement;
};

Preempt::Preempt(ContextData& data, PreemptMode mode) : data_(data), mode_(mode) {}
Preempt::~Preempt() = default;

Result<bool> Preempt::agree() {
    if (data_.distributed.size() == 1) return data_.has_notice();
    if (!peers_) {
        DET_TRY_ASSIGN(auto channel, preemption::PreemptChannel::open(data_.distributed));
        peers_ = std::make_unique<Peers>(std::move(channel));
    }
    return peers_->channel.agree(peers_->agreement, data_.has_notice());
}

Result<bool> Preempt::ask() {
    switch (mode_) {
        case PreemptMode::workers_ask_chief:
            return agree();
        case PreemptMode::chief_only:
            DET_TRY(require_chief(data_, "should_preempt with PreemptMode::chief_only"));
            return data_.has_notice();
        case PreemptMode::workers_ask_master:
            return data_.has_notice();
    }
    return false;
}

Result<bool> Preempt::should_preempt(Acknowledge when) {
    if (!data_.is_preempted) {
        if (!has_begun_) DET_TRY(note_first_step());
        DET_TRY_ASSIGN(data_.is_preempted, ask());
        if (data_.is_preempted) data_.preempted_at = data_.clock.now();
    }
    // Called at every true answer, because an earlier acknowledgement may have failed.
    if (data_.is_preempted && when == Acknowledge::at_once) DET_TRY(acknowledge());
    return data_.is_preempted;
}

/// Records the first call of should_preempt(), which shows that the training loop runs.
Status Preempt::note_first_step() {
    has_begun_ = true;
    if (!data_.reporter) return Ok{};
    return data_.reporter->report(encode_record(FirstStep{data_.clock.now()}));
}

Status Preempt::acknowledge() { return data_.acknowledge_preemption(); }

}  // namespace det::core
