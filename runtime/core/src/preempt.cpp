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

bool Preempt::has_notice() const { return data_.notice && data_.notice->is_raised(); }

Result<bool> Preempt::agree() {
    if (data_.distributed.size() == 1) return has_notice();
    if (!peers_) {
        DET_TRY_ASSIGN(auto channel, preemption::PreemptChannel::open(data_.distributed));
        peers_ = std::make_unique<Peers>(std::move(channel));
    }
    return peers_->channel.agree(peers_->agreement, has_notice());
}

Result<bool> Preempt::ask() {
    switch (mode_) {
        case PreemptMode::workers_ask_chief:
            return agree();
        case PreemptMode::chief_only:
            DET_TRY(require_chief(data_, "should_preempt with PreemptMode::chief_only"));
            return has_notice();
        case PreemptMode::workers_ask_master:
            return has_notice();
    }
    return false;
}

Result<bool> Preempt::should_preempt(Acknowledge when) {
    if (is_preempted_) return true;
    if (!has_begun_) DET_TRY(note_first_step());
    DET_TRY_ASSIGN(is_preempted_, ask());
    if (is_preempted_ && when == Acknowledge::at_once) DET_TRY(acknowledge());
    return is_preempted_;
}

/// Records the first call of should_preempt(), which shows that the training loop runs.
Status Preempt::note_first_step() {
    has_begun_ = true;
    if (!data_.journal) return Ok{};
    return data_.journal->append(FirstStep{data_.clock.now()});
}

Status Preempt::acknowledge() {
    if (is_acknowledged_ || !data_.journal) return Ok{};
    auto const noticed = data_.notice ? data_.notice->raised_at() : std::nullopt;
    // The record is not synced to disk, which would delay the last checkpoint. If the node loses power, the
    // acknowledgement does not matter.
    DET_TRY(data_.journal->append(PreemptionAcknowledged{data_.clock.now(), noticed}));
    is_acknowledged_ = true;
    return Ok{};
}

}  // namespace det::core
