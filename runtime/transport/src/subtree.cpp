// A beat carries the descendants that were heard lately, and not their ages: those of each child whose own
// beat has come since the beat before, or is not older than by when the next one is due. So a node that lives
// is in every beat, also if beats come somewhat late, and a node that dies is mentioned for not much more
// than a second longer by each of its ancestors.
#include "subtree.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "node_tree.hpp"

namespace det::transport {
namespace {

using namespace std::chrono_literals;
using namespace node_messages;

constexpr std::chrono::milliseconds mentioned_for = NodeBeats::interval + 200ms;
/// Requests that are older do not say whether a newer run exists.
constexpr std::chrono::milliseconds requests_valid_for = NodeMonitor::suspected_after;

}  // namespace

void Subtree::add_child(int child, TimePoint now) {
    std::scoped_lock const lock(mutex_);
    children_[child] = {.heard_at = now};
}

void Subtree::remove_child(int child) {
    std::scoped_lock const lock(mutex_);
    children_.erase(child);
    children_changed_.notify_all();
}

bool Subtree::is_replaceable(int child, TimePoint now) const {
    std::scoped_lock const lock(mutex_);
    auto const found = children_.find(child);
    return found == children_.end() || now - found->second.heard_at >= replaceable_after;
}

bool Subtree::take(int child, FromNode const& message, TimePoint now, std::optional<BeatAnswer>& answer) {
    std::scoped_lock const lock(mutex_);
    auto const found = children_.find(child);
    if (found == children_.end() || !is_descendant(child)) return false;
    auto& from = found->second;
    from.heard_at = now;
    if (auto const* hello = std::get_if<Hello>(&message)) {
        if (children_heard_at(now) > node_tree::children_max) return false;
        from.session = hello->session;
        departures_.erase(child);
        return true;
    }
    if (std::holds_alternative<Leaving>(message)) {
        add_departure({child, from.session});
        children_.erase(found);
        children_changed_.notify_all();
        return true;
    }
    auto const* beat = std::get_if<Beat>(&message);
    if (beat == nullptr || !take_beat(from, *beat)) return false;
    from.beaten_at = now;
    answer = make_answer(beat->number, now);
    return true;
}

bool Subtree::take_beat(Child& child, Beat const& beat) {
    auto const last = static_cast<std::size_t>(nodes_ - 1);
    if (!beat.heard.empty()) {
        auto const& back = beat.heard.back();
        bool const is_last_word = back.index == last / nodes_of_word && last % nodes_of_word != 63;
        if (back.index > last / nodes_of_word) return false;
        if (is_last_word && back.bits >> (last % nodes_of_word + 1) != 0) return false;
    }
    if (!std::ranges::all_of(beat.departures, [&](auto const& each) { return is_descendant(each.node); }))
        return false;
    child.is_new = true;
    child.activity = beat.activity;
    child.heard = beat.heard;
    for (auto const& departure : beat.departures) add_departure(departure);
    return true;
}

void Subtree::add_departure(Departure const& departure) {
    auto& pending = departures_[departure.node];
    if (!(pending.departure == departure)) pending = {departure};
}

BeatAnswer Subtree::make_answer(std::uint64_t number, TimePoint now) const {
    constexpr auto never = std::numeric_limits<std::uint32_t>::max();
    if (!requested_at_) return {number, requests_ | node_requests::look_for_newer_run, never};
    auto const age =
        std::max(std::chrono::duration_cast<std::chrono::milliseconds>(now - *requested_at_), 0ms);
    auto const requests =
        age < requests_valid_for ? requests_ : requests_ | node_requests::look_for_newer_run;
    return {number, requests, static_cast<std::uint32_t>(std::min<std::int64_t>(age.count(), never - 1))};
}

Beat Subtree::make_beat(std::optional<std::uint64_t> activity, TimePoint now) {
    std::scoped_lock const lock(mutex_);
    Beat beat{++number_, activity};
    std::map<std::uint16_t, std::uint64_t> words;
    for (auto& [node, child] : children_) {
        // Each number grows while ranks make progress, so the sum changes with any of them.
        if (child.activity) beat.activity = beat.activity.value_or(0) + *child.activity;
        if (!std::exchange(child.is_new, false) && now - child.beaten_at >= mentioned_for) continue;
        auto const number = static_cast<std::size_t>(node);
        words[static_cast<std::uint16_t>(number / nodes_of_word)] |= std::uint64_t{1}
                                                                     << number % nodes_of_word;
        for (auto const& word : child.heard) words[word.index] |= word.bits;
    }
    for (auto const& [index, bits] : words) beat.heard.push_back({index, bits});
    for (auto& [node, pending] : departures_) {
        if (beat.departures.size() == departures_max) break;
        if (pending.sent_in == 0) pending.sent_in = number_;
        beat.departures.push_back(pending.departure);
    }
    return beat;
}

void Subtree::take_answer(BeatAnswer const& answer, TimePoint now) {
    std::scoped_lock const lock(mutex_);
    requests_ = answer.requests;
    if (answer.age_ms != std::numeric_limits<std::uint32_t>::max())
        requested_at_ = now - std::chrono::milliseconds(answer.age_ms);
    erase_departures(answer.number);
}

void Subtree::drop_departures(std::uint64_t number) {
    std::scoped_lock const lock(mutex_);
    erase_departures(number);
}

void Subtree::erase_departures(std::uint64_t number) {
    std::erase_if(departures_, [&](auto const& each) {
        auto const sent_in = each.second.sent_in;
        return sent_in != 0 && sent_in <= number;
    });
}

void Subtree::begin_uplink() {
    std::scoped_lock const lock(mutex_);
    for (auto& [node, pending] : departures_) pending.sent_in = 0;
}

bool Subtree::has_departures() const {
    std::scoped_lock const lock(mutex_);
    return !departures_.empty();
}

int Subtree::children_heard_at(TimePoint now) const {
    return static_cast<int>(std::ranges::count_if(
        children_, [&](auto const& each) { return now - each.second.heard_at < replaceable_after; }));
}

void Subtree::wait_for_children(std::chrono::milliseconds limit) {
    std::unique_lock lock(mutex_);
    children_changed_.wait_for(lock, limit,
                               [this] { return children_heard_at(std::chrono::steady_clock::now()) == 0; });
}

int Subtree::children() const {
    std::scoped_lock const lock(mutex_);
    return static_cast<int>(children_.size());
}

}  // namespace det::transport
