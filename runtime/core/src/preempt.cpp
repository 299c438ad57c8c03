#include <det/core/preempt.hpp>

#include <cstring>

#include "preempt_board.hpp"
#include "session.hpp"

namespace det::core {
namespace {

Result<std::vector<PreemptSeat>> gather_seats(collectives::DistributedContext& distributed) {
    PreemptSeat own{{distributed.local_rank(), distributed.local_size(), distributed.cross_rank(),
                     distributed.cross_size()},
                    distributed.node_flags() != nullptr};
    std::vector<PreemptSeat> seats;
    if (own.topology.cross_size == 1) {
        // All are alike, and nobody has to be asked.
        for (auto& rank = own.topology.local_rank = 0; rank < distributed.size(); ++rank)
            seats.push_back(own);
        return seats;
    }
    DET_TRY_ASSIGN(auto const values,
                   distributed.allgather({reinterpret_cast<char const*>(&own), sizeof own}));
    for (auto const& value : values) std::memcpy(&seats.emplace_back(), value.data(), sizeof own);
    return seats;
}

}  // namespace

struct Preempt::Talk {
    explicit Talk(PreemptBoard made) : board(std::move(made)), agreement(board.make_agreement()) {}

    PreemptBoard board;
    preemption::Agreement agreement;
};

Preempt::Preempt(Session& session, PreemptMode mode) : session_(session), mode_(mode) {}
Preempt::~Preempt() = default;

bool Preempt::has_notice() const { return session_.notice && session_.notice->is_raised(); }

Status Preempt::open_talk() {
    auto& distributed = session_.distributed;
    DET_TRY_ASSIGN(auto const seats, gather_seats(distributed));
    talk_ = std::make_unique<Talk>(PreemptBoard(distributed, make_preempt_ring(seats, distributed.rank())));
    return talk_->board.connect();
}

Result<bool> Preempt::agree() {
    if (session_.distributed.size() == 1) return has_notice();
    if (!talk_) DET_TRY(open_talk());
    return talk_->board.agree(talk_->agreement, has_notice());
}

Result<bool> Preempt::ask() {
    switch (mode_) {
        case PreemptMode::workers_ask_chief:
            return agree();
        case PreemptMode::chief_only:
            DET_TRY(require_chief(session_, "should_preempt with PreemptMode::chief_only"));
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

/// Who asks has a training loop that goes round.
Status Preempt::note_first_step() {
    has_begun_ = true;
    if (!session_.journal) return Ok{};
    return session_.journal->append(FirstStep{session_.clock.now()});
}

Status Preempt::acknowledge() {
    if (is_acknowledged_ || !session_.journal) return Ok{};
    auto const noticed = session_.notice ? session_.notice->raised_at() : std::nullopt;
    // Without a sync, which the last checkpoint would wait for: a node that loses its power gave up nothing.
    DET_TRY(session_.journal->append(PreemptionAcknowledged{session_.clock.now(), noticed}));
    is_acknowledged_ = true;
    return Ok{};
}

}  // namespace det::core
