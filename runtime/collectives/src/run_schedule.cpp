// Executes the steps of one rank in their order. A step that receives blocks and the following steps that
// send or finish the same blocks are cut into pieces together: a piece is received, combined, finished and
// forwarded before the next piece. So the ranks of a chain or a tree work on different pieces at the same
// time.
//
// - Bits: pieces are combined in the order of the steps, not in the order in which they arrive. The result
//   depends only on the schedule.
// - Matching: sends are started and receives are posted in the order of the steps, and the transport keeps
//   the order of messages with one tag between two ranks. Both ranks cut a step at the same bytes.
// - Memory: a receive is posted into a block only if no step between the present one and the receive uses the
//   block, and no open send reads it. Data to combine is received into scratch memory for two pieces
//   (combines_ahead): one piece is combined while the next one arrives. No memory is written while an open
//   send reads it (finish_sends_of()).
// - End: the steps of all ranks together have no cycle (schedule_test runs every algorithm), and a send does
//   not wait for its receiver. A rank waits for a receive at its own step only. A rank waits for a send only
//   before it overwrites the sent memory. The new contents come from the receiver of that send, or were
//   computed from the sent data, so the receiver takes the message without a later step of this rank.
//
// posted_max and look_ahead_moves limit the search for receives that can be posted, which compares each
// receive with the steps before it. sends_untested_max limits how many finished sends keep their requests.
#include "run_schedule.hpp"

#include <algorithm>
#include <deque>
#include <optional>

namespace det::collectives {
namespace {

using transport::MutableBytes;
using transport::Request;

/// A step, or a piece of one.
struct Move {
    Action action;
    Rank peer;
    MutableBytes bytes;
};

bool overlap(MutableBytes a, MutableBytes b) {
    return a.data() < b.data() + b.size() && b.data() < a.data() + a.size();
}

MutableBytes memory_of(Blocks const& blocks, BlockRange range) {
    std::size_t size = 0;
    for (int i = range.begin; i < range.end; ++i) size += blocks[static_cast<std::size_t>(i)].size();
    return {blocks[static_cast<std::size_t>(range.begin)].data(), size};
}

/// The number of leading steps that can be done piece by piece: each piece is received, finished and
/// forwarded before the next one.
std::size_t steps_together(std::span<Step const> steps) {
    if (!receives(steps.front().action)) return 1;
    std::size_t count = 1;
    while (count < steps.size() && !receives(steps[count].action) &&
           steps[count].blocks == steps.front().blocks)
        ++count;
    return count;
}

std::vector<Move> in_pieces(Schedule const& schedule, Blocks const& blocks, std::size_t piece_bytes) {
    std::vector<Move> moves;
    moves.reserve(schedule.steps.size());
    std::span<Step const> rest = schedule.steps;
    while (!rest.empty()) {
        auto const together = rest.first(steps_together(rest));
        auto bytes = memory_of(blocks, together.front().blocks);
        while (!bytes.empty()) {
            auto const piece = bytes.first(std::min(piece_bytes, bytes.size()));
            for (auto const& step : together) moves.push_back({step.action, step.peer, piece});
            bytes = bytes.subspan(piece.size());
        }
        rest = rest.subspan(together.size());
    }
    return moves;
}

class Execution {
public:
    Execution(Channel channel, std::vector<Move> moves, Pieces pieces, Reduction const& reduction)
        : channel_(channel), moves_(std::move(moves)), pieces_(pieces), reduction_(reduction) {}

    Status run() {
        for (at_ = 0; at_ < moves_.size(); ++at_) {
            DET_TRY(post_ahead());
            DET_TRY(execute(moves_[at_]));
        }
        for (; !sends_.empty(); sends_.pop_front()) DET_TRY(sends_.front().request.finish());
        return Ok{};
    }

private:
    struct Sending {
        MutableBytes bytes;
        Request request;
    };
    struct Receiving {
        MutableBytes into;
        Request request;
    };
    static constexpr std::size_t combines_ahead = 2;
    static constexpr std::size_t posted_max = 4;
    static constexpr std::size_t look_ahead_moves = 16;
    static constexpr std::size_t sends_untested_max = 16;

    static bool combines(Move const& move) { return receives(move.action) && move.action != Action::receive; }

    Status execute(Move const& move) {
        switch (move.action) {
            case Action::send:
                return send(move);
            case Action::receive:
                return receive(move);
            case Action::combine_below:
            case Action::combine_above:
                return combine(move);
            case Action::finish:
                break;
        }
        DET_TRY(finish_sends_of(move.bytes));
        reduction_.finish(move.bytes);
        return Ok{};
    }

    /// Posts the receives of the next moves, as far as their memory is free, so that peers do not wait for
    /// this rank.
    Status post_ahead() {
        posted_to_ = std::max(posted_to_, at_);
        auto const end = std::min(moves_.size(), at_ + look_ahead_moves);
        for (; posted_to_ < end && posted_.size() < posted_max; ++posted_to_) {
            auto const& move = moves_[posted_to_];
            if (!receives(move.action)) continue;
            if (!is_free_for(move)) return Ok{};
            DET_TRY(post(move));
        }
        return Ok{};
    }

    bool is_free_for(Move const& move) const {
        if (combines(move)) return combines_posted_ - combined_ < combines_ahead;
        auto const overlaps = [&](auto const& other) { return overlap(other.bytes, move.bytes); };
        auto const between = std::span(moves_).subspan(at_, posted_to_ - at_);
        return std::ranges::none_of(between, overlaps) && std::ranges::none_of(sends_, overlaps);
    }

    Status post(Move const& move) {
        auto const into = combines(move) ? scratch_for(move) : move.bytes;
        DET_TRY_ASSIGN(auto request, channel_.peers.start_receive(move.peer, channel_.tag, into));
        posted_.push_back({into, std::move(request)});
        return Ok{};
    }

    MutableBytes scratch_for(Move const& move) {
        auto const index = combines_posted_++ % combines_ahead;
        return MutableBytes(pieces_.scratch).subspan(index * pieces_.size_bytes, move.bytes.size());
    }

    Result<MutableBytes> finish_receive(Move const& move) {
        if (posted_to_ == at_) {  // not posted ahead, because a send was still reading its memory
            DET_TRY(finish_sends_of(move.bytes));
            DET_TRY(post(move));
            ++posted_to_;
        }
        auto receiving = std::move(posted_.front());
        posted_.pop_front();
        DET_TRY(receiving.request.finish());
        return receiving.into;
    }

    Status receive(Move const& move) {
        DET_TRY(finish_receive(move));
        return Ok{};
    }

    Status combine(Move const& move) {
        DET_TRY_ASSIGN(auto const received, finish_receive(move));
        ++combined_;
        DET_TRY(finish_sends_of(move.bytes));
        reduction_.combine(move.bytes, received,
                           move.action == Action::combine_below ? Side::below : Side::above);
        return Ok{};
    }

    Status send(Move const& move) {
        DET_TRY(release_finished_sends());
        DET_TRY_ASSIGN(auto request, channel_.peers.start_send(move.peer, channel_.tag, move.bytes));
        sends_.push_back({move.bytes, std::move(request)});
        return Ok{};
    }

    /// While more than sends_untested_max sends are open, releases the oldest if it is complete. Does not
    /// wait for it, because its receiver may wait for a later step of this rank.
    Status release_finished_sends() {
        while (sends_.size() > sends_untested_max) {
            DET_TRY_ASSIGN(auto const is_over, sends_.front().request.test());
            if (!is_over) break;
            DET_TRY(sends_.front().request.finish());
            sends_.pop_front();
        }
        return Ok{};
    }

    /// Waits until no send reads these bytes.
    Status finish_sends_of(MutableBytes bytes) {
        for (auto i = sends_.begin(); i != sends_.end();) {
            if (!overlap(i->bytes, bytes)) {
                ++i;
                continue;
            }
            DET_TRY(i->request.finish());
            i = sends_.erase(i);
        }
        return Ok{};
    }

    Channel channel_;
    std::vector<Move> moves_;
    Pieces pieces_;
    Reduction const& reduction_;
    std::size_t at_ = 0;
    std::size_t posted_to_ = 0;  // the receives of moves before this one are posted
    std::size_t combines_posted_ = 0, combined_ = 0;
    std::deque<Receiving> posted_;
    std::deque<Sending> sends_;
};

}  // namespace

Blocks equal_blocks(MutableBytes bytes, std::size_t element_bytes, int count) {
    auto const elements = bytes.size() / element_bytes, parts = static_cast<std::size_t>(count);
    Blocks blocks;
    blocks.reserve(parts);
    for (std::size_t i = 0; i < parts; ++i) {
        auto const size = (elements / parts + (i < elements % parts ? 1 : 0)) * element_bytes;
        blocks.push_back(bytes.first(size));
        bytes = bytes.subspan(size);
    }
    return blocks;
}

Status run_schedule(Channel channel, Schedule const& schedule, Blocks const& blocks, Pieces pieces,
                    Reduction const& reduction) {
    return Execution(channel, in_pieces(schedule, blocks, pieces.size_bytes), pieces, reduction).run();
}

}  // namespace det::collectives
