#include "run_schedule.hpp"

#include <algorithm>
#include <deque>
#include <optional>

namespace det::collectives {
namespace {

using transport::MutableBytes;
using transport::Request;

/// Where the blocks of a buffer begin: they hold whole elements, and the first ones one more where it doesn't
/// come out.
class Layout {
public:
    Layout(MutableBytes bytes, std::size_t element_bytes, int blocks)
        : bytes_(bytes),
          element_bytes_(element_bytes),
          each_(bytes.size() / element_bytes / static_cast<std::size_t>(blocks)),
          longer_(bytes.size() / element_bytes % static_cast<std::size_t>(blocks)) {}

    MutableBytes of(BlockRange range) const {
        auto const begin = offset(range.begin);
        return bytes_.subspan(begin, offset(range.end) - begin);
    }

private:
    std::size_t offset(int block) const {
        auto const index = static_cast<std::size_t>(block);
        return (index * each_ + std::min(index, longer_)) * element_bytes_;
    }

    MutableBytes bytes_;
    std::size_t element_bytes_;
    std::size_t each_;
    std::size_t longer_;
};

bool overlap(MutableBytes a, MutableBytes b) {
    return a.data() < b.data() + b.size() && b.data() < a.data() + a.size();
}

/// How many of the steps, from the first on, can be done piece by piece: what was received is finished and
/// passed on.
std::size_t steps_together(std::span<Step const> steps) {
    auto const takes = [](Action action) { return action != Action::send && action != Action::finish; };
    if (!takes(steps.front().action)) return 1;
    std::size_t count = 1;
    while (count < steps.size() && !takes(steps[count].action) && steps[count].blocks == steps.front().blocks)
        ++count;
    return count;
}

class Execution {
public:
    Execution(Channel channel, Pieces pieces, Reduction const& reduction)
        : channel_(channel), pieces_(pieces), reduction_(reduction) {}

    /// A step, and those right behind it that go on with the same blocks: these are done piece by piece.
    Status run(std::span<Step const> steps, MutableBytes range) {
        auto const& first = steps.front();
        auto const rest = steps.subspan(1);
        switch (first.action) {
            case Action::send:
                return send(first.peer, range);
            case Action::receive:
                return receive(first.peer, range, rest);
            case Action::combine_below:
                return combine(first.peer, range, Side::below, rest);
            case Action::combine_above:
                return combine(first.peer, range, Side::above, rest);
            case Action::finish:
                break;
        }
        DET_TRY(finish_sends_of(range));
        reduction_.finish(range);
        return Ok{};
    }

    Status finish_all_sends() {
        for (; !sends_.empty(); sends_.pop_front()) DET_TRY(sends_.front().request.finish());
        return Ok{};
    }

private:
    struct Sending {
        MutableBytes range;
        Request request;
    };

    std::size_t count_of(MutableBytes range) const {
        return (range.size() + pieces_.size_bytes - 1) / pieces_.size_bytes;
    }
    MutableBytes piece(MutableBytes range, std::size_t index) const {
        auto const begin = index * pieces_.size_bytes;
        return range.subspan(begin, std::min(pieces_.size_bytes, range.size() - begin));
    }

    Status send(Rank peer, MutableBytes range) {
        for (std::size_t i = 0; i < count_of(range); ++i) {
            auto const part = piece(range, i);
            DET_TRY_ASSIGN(auto request, channel_.peers.start_send(peer, channel_.tag, part));
            sends_.push_back({part, std::move(request)});
        }
        return Ok{};
    }

    /// What is still being sent must not change.
    Status finish_sends_of(MutableBytes range) {
        for (auto i = sends_.begin(); i != sends_.end();) {
            if (!overlap(i->range, range)) {
                ++i;
                continue;
            }
            DET_TRY(i->request.finish());
            i = sends_.erase(i);
        }
        return Ok{};
    }

    Status go_on(MutableBytes part, std::span<Step const> steps) {
        for (auto const& step : steps) {
            if (step.action == Action::finish) {
                reduction_.finish(part);
            } else {
                DET_TRY(send(step.peer, part));
            }
        }
        return Ok{};
    }

    Status receive(Rank peer, MutableBytes range, std::span<Step const> rest) {
        DET_TRY(finish_sends_of(range));
        return receive_pieces(
            peer, range, [](MutableBytes part, std::size_t) { return part; },
            [this, rest](MutableBytes part, MutableBytes) { return go_on(part, rest); });
    }

    Status combine(Rank peer, MutableBytes range, Side side, std::span<Step const> rest) {
        return receive_pieces(
            peer, range,
            [this](MutableBytes part, std::size_t index) {
                return MutableBytes(pieces_.room).subspan(index % 2 * pieces_.size_bytes, part.size());
            },
            [this, side, rest](MutableBytes part, MutableBytes received) -> Status {
                DET_TRY(finish_sends_of(part));
                reduction_.combine(part, received, side);
                return go_on(part, rest);
            });
    }

    template <class Room, class Take>
    Status receive_pieces(Rank peer, MutableBytes range, Room const& room, Take const& take) {
        auto const count = count_of(range);
        std::optional<Request> coming[2];
        auto const ask_for = [&](std::size_t index) -> Status {
            DET_TRY_ASSIGN(coming[index % 2], channel_.peers.start_receive(peer, channel_.tag,
                                                                           room(piece(range, index), index)));
            return Ok{};
        };
        if (count > 0) DET_TRY(ask_for(0));
        for (std::size_t i = 0; i < count; ++i) {
            if (i + 1 < count) DET_TRY(ask_for(i + 1));
            DET_TRY(coming[i % 2]->finish());
            DET_TRY(take(piece(range, i), room(piece(range, i), i)));
        }
        return Ok{};
    }

    Channel channel_;
    Pieces pieces_;
    Reduction const& reduction_;
    std::deque<Sending> sends_;
};

}  // namespace

Status run_schedule(Channel channel, Schedule const& schedule, MutableBytes bytes, Pieces pieces,
                    Reduction const& reduction) {
    Layout const layout(bytes, reduction.element_bytes, schedule.blocks);
    Execution execution(channel, pieces, reduction);
    std::span<Step const> rest = schedule.steps;
    while (!rest.empty()) {
        auto const count = steps_together(rest);
        DET_TRY(execution.run(rest.first(count), layout.of(rest.front().blocks)));
        rest = rest.subspan(count);
    }
    return execution.finish_all_sends();
}

}  // namespace det::collectives
