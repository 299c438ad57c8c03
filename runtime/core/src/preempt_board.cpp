#include "preempt_board.hpp"

#include <algorithm>
#include <span>

namespace det::core {

using preemption::Agreement;
using preemption::Word;

namespace {

constexpr transport::Tag tag{transport::tag_max};

bool is_enough(std::uint64_t value, std::uint64_t call) { return Word::from(value).is_enough_for(call); }

using Role = PreemptRing::Role;

Agreement::AtOnce at_once_of(Role role) {
    switch (role) {
        case Role::hears_all:
            return Agreement::AtOnce::for_all;
        case Role::passes_on:
            return Agreement::AtOnce::for_voices;
        case Role::hears_one:
            return Agreement::AtOnce::never;
    }
    return Agreement::AtOnce::never;
}

bool all_are_voices(std::vector<PreemptSeat> const& seats) {
    return seats.front().topology.cross_size == 1 || std::ranges::any_of(seats, [](auto const& seat) {
               return seat.topology.local_size > 1 && !seat.shares_memory;
           });
}

}  // namespace

PreemptRing make_preempt_ring(std::vector<PreemptSeat> const& seats, Rank own, std::size_t directly_max) {
    PreemptRing ring;
    auto const& here = seats[static_cast<std::size_t>(own.value)];
    bool const are_all_voices = all_are_voices(seats);
    auto const is_voice = [&](PreemptSeat const& seat) {
        return are_all_voices || seat.topology.local_rank == 0;
    };
    if (!are_all_voices && seats.size() > directly_max)
        ring.role = is_voice(here) ? Role::passes_on : Role::hears_one;
    for (std::size_t i = 0; i < seats.size(); ++i) {
        Rank const rank{static_cast<int>(i)};
        auto const& there = seats[i];
        bool const is_near =
            rank == own || (here.shares_memory && there.topology.cross_rank == here.topology.cross_rank);
        if (!is_near && is_voice(here) && (ring.role == Role::hears_all || is_voice(there)))
            ring.listeners.push_back(rank);
        bool const is_heard =
            ring.role == Role::hears_one ? is_near && is_voice(there) : is_near || is_voice(there);
        if (!is_heard && rank != own) continue;
        if (rank == own) ring.own = ring.sources.size();
        ring.sources.push_back({rank, is_voice(there) ? Agreement::Part::voice : Agreement::Part::request,
                                is_near ? there.topology.local_rank : -1});
    }
    return ring;
}

PreemptBoard::PreemptBoard(collectives::DistributedContext& distributed, PreemptRing ring)
    : words_(distributed.node_flags()),
      messages_(distributed.messages()),
      ring_(std::move(ring)),
      received_(ring_.sources.size()) {}

Agreement PreemptBoard::make_agreement() const {
    std::vector<Agreement::Part> parts;
    for (auto const& source : ring_.sources) parts.push_back(source.part);
    return {std::move(parts), ring_.own, at_once_of(ring_.role)};
}

Status PreemptBoard::connect() {
    std::uint64_t const sent = 0;
    std::deque<std::uint64_t> received;
    std::vector<transport::Request> requests;
    for (auto const& source : ring_.sources) {
        if (source.local_rank >= 0) continue;
        auto const into = std::as_writable_bytes(std::span(&received.emplace_back(), 1));
        DET_TRY_ASSIGN(auto request, messages_->start_receive(source.rank, tag, into));
        requests.push_back(std::move(request));
    }
    for (auto const rank : ring_.listeners) {
        DET_TRY_ASSIGN(auto request, messages_->start_send(rank, tag, std::as_bytes(std::span(&sent, 1))));
        requests.push_back(std::move(request));
    }
    for (auto& request : requests) DET_TRY(request.finish());
    return Ok{};
}

// A rank that knew enough may have ended before our word comes. That is no loss; one that is lost is found by
// whoever waits for it. So what can't be sent is no error here.

void PreemptBoard::forget_what_has_arrived() {
    while (!sent_.empty()) {
        for (auto& requests = sent_.front().requests; !requests.empty(); requests.pop_back()) {
            auto const has_arrived = requests.back().test();
            if (has_arrived && !*has_arrived) return;
            static_cast<void>(requests.back().finish());
        }
        sent_.pop_front();
    }
}

Status PreemptBoard::tell(Word word) {
    if (word == told_) return Ok{};
    told_ = word;
    if (words_ != nullptr && ring_.role != Role::passes_on) words_->write(word.value());
    if (ring_.listeners.empty()) return Ok{};
    forget_what_has_arrived();
    auto& sent = sent_.emplace_back(Sent{word.value()});
    auto const bytes = std::as_bytes(std::span(&sent.value, 1));
    for (auto const rank : ring_.listeners) {
        if (auto request = messages_->start_send(rank, tag, bytes))
            sent.requests.push_back(*std::move(request));
    }
    return Ok{};
}

Status PreemptBoard::pass_on(Word agreed) {
    words_->write(agreed.value());
    return Ok{};
}

Result<bool> PreemptBoard::agree(Agreement& agreement, bool has_notice) {
    return ring_.role == Role::passes_on ? preemption::agree_and_pass_on(agreement, *this, has_notice)
                                         : preemption::agree(agreement, *this, has_notice);
}

Word PreemptBoard::look(std::size_t part) {
    auto const local_rank = ring_.sources[part].local_rank;
    return local_rank < 0 ? received_[part] : Word::from(words_->read(local_rank));
}

Result<Word> PreemptBoard::await(Agreement::Awaited awaited) {
    auto const [part, call] = awaited;
    auto const& source = ring_.sources[part];
    if (source.local_rank >= 0) {
        DET_TRY_ASSIGN(auto const value, words_->wait(source.local_rank, is_enough, call));
        return Word::from(value);
    }
    auto& word = received_[part];
    while (!word.is_enough_for(call)) {
        std::uint64_t value = 0;
        DET_TRY(messages_->receive(source.rank, tag, std::as_writable_bytes(std::span(&value, 1))));
        word = Word::from(value);
    }
    return word;
}

}  // namespace det::core
