#include "agreement.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <fmt/format.h>

namespace det::collectives {
namespace {

using transport::Fit;

std::string difference(Head const& below, Head const& above) {
    return describe_difference(below.call, {below.rank}, above.call, {above.rank});
}

/// Merges a received message. If both messages hold a failure, the reason of the lower ranks is kept.
void join(Message& mine, Message const& theirs, Side side, Merge const& merge) {
    auto const own = mine.head();
    auto const other = theirs.head();
    if (mine.is_agreed() && theirs.is_agreed()) {
        if (own.call == other.call) {
            merge(mine, theirs, side);
        } else {
            mine.fail(side == Side::below ? difference(other, own) : difference(own, other), Refusal::misuse);
        }
    } else if (!theirs.is_agreed() && (mine.is_agreed() || side == Side::below)) {
        mine.fail(theirs.reason(), other.refusal);
    }
    auto joined = mine.head();
    joined.rank = std::min(own.rank, other.rank);
    mine.set_head(joined);
}

Status receive(Channel channel, Rank from, Message& message) {
    DET_TRY_ASSIGN(auto const size, channel.peers.receive(from, channel.tag, message.memory(), Fit::at_most));
    return message.set_size(size, from);
}

Status exchange(Channel channel, Rank peer, Message const& mine, Message& theirs) {
    DET_TRY_ASSIGN(
        auto const size,
        channel.peers.exchange({peer, mine.bytes()}, {peer, theirs.memory(), Fit::at_most}, channel.tag));
    return theirs.set_size(size, peer);
}

Side side_of(Action action) { return action == Action::combine_below ? Side::below : Side::above; }

bool is_exchange(Step const& step, Step const& next) {
    return step.action == Action::send && next.peer == step.peer &&
           (next.action == Action::combine_below || next.action == Action::combine_above);
}

Status follow(Channel channel, Step const& step, Message& mine, Message& theirs, Merge const& merge) {
    switch (step.action) {
        case Action::send:
            return channel.peers.send(step.peer, channel.tag, mine.bytes());
        case Action::receive:
            return receive(channel, step.peer, mine);
        case Action::combine_below:
        case Action::combine_above:
            DET_TRY(receive(channel, step.peer, theirs));
            join(mine, theirs, side_of(step.action), merge);
            break;
        case Action::finish:
            break;
    }
    return Ok{};
}

}  // namespace

Head Message::head() const {
    Head head;
    std::memcpy(&head, storage_.data(), sizeof head);
    return head;
}

void Message::set_head(Head const& head) { std::memcpy(storage_.data(), &head, sizeof head); }

void Message::fail(std::string_view reason, Refusal refusal) {
    auto changed = head();
    changed.refusal = refusal;
    set_head(changed);
    clear_payload();
    append(std::as_bytes(std::span(reason.substr(0, storage_.size() - size_))));
}

std::string Message::reason() const {
    auto const text = payload();
    return {reinterpret_cast<char const*>(text.data()), text.size()};
}

void Message::append(std::span<std::byte const> bytes) {
    assert(size_ + bytes.size() <= storage_.size());
    std::copy(bytes.begin(), bytes.end(), storage_.begin() + static_cast<std::ptrdiff_t>(size_));
    size_ += bytes.size();
}

void Message::prepend(std::span<std::byte const> bytes) {
    assert(size_ + bytes.size() <= storage_.size());
    auto const old = payload();
    size_ += bytes.size();
    std::copy_backward(old.begin(), old.end(), payload().end());
    std::copy(bytes.begin(), bytes.end(), payload().begin());
}

Status Message::set_size(std::size_t size, Rank from) {
    size_ = std::max(size, sizeof(Head));
    if (size >= sizeof(Head) && head().magic == Head::magic_value) return Ok{};
    return Error{
        codes::transport,
        fmt::format("the {} bytes that rank {} sent do not begin a collective operation", size, from.value),
        "start all ranks from the same version of the program"};
}

Schedule agreement_schedule(Rank rank, int ranks) {
    if (ranks == 1) return {};
    return allreduce_schedule({.algorithm = Algorithm::recursive_doubling, .rank = rank, .ranks = ranks});
}

Status agree(Channel channel, Schedule const& schedule, Message& mine, Message& theirs, Merge const& merge) {
    auto const& steps = schedule.steps;
    for (std::size_t i = 0; i < steps.size(); ++i) {
        if (i + 1 == steps.size() || !is_exchange(steps[i], steps[i + 1])) {
            DET_TRY(follow(channel, steps[i], mine, theirs, merge));
        } else {
            DET_TRY(exchange(channel, steps[i].peer, mine, theirs));
            join(mine, theirs, side_of(steps[++i].action), merge);
        }
    }
    return Ok{};
}

}  // namespace det::collectives
