// A beat carries the descendants that were heard lately, and not their ages: those of each child whose own
// beat has come since the beat before, or is not older than by when the next one is due. So a node that lives
// is in every beat, also if beats come somewhat late, and a node that dies is mentioned for not much more
// than a second longer by each of its ancestors.
//
// A departure is sent up in each beat until the supervisor has it. Only the supervisor can say so, and its
// word comes down the same way: the answer to a beat carries the number of the newest beat of which all
// departures are known there. A child that has said that it leaves keeps its connection, and is answered when
// its departure is known, and all that it has sent for its own children. So a node that was answered knows
// that the supervisor knows, and one whose parent is lost meanwhile tells the supervisor itself.
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
/// A child waits for so long until its departure is known.
constexpr std::chrono::milliseconds new_for = 1s;
/// Requests that are older do not say whether a newer run exists.
constexpr std::chrono::milliseconds requests_valid_for = NodeMonitor::suspected_after;

}  // namespace

void Subtree::add_child(int child, TimePoint now) {
    std::scoped_lock const lock(mutex_);
    children_[child] = {.heard_at = now};
    leaving_children_.erase(child);  // the answer to an earlier session must not reach this connection
}

void Subtree::remove_child(int child) {
    std::scoped_lock const lock(mutex_);
    children_.erase(child);
    leaving_children_.erase(child);
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
        leaving_children_.erase(child);
        return true;
    }
    if (std::holds_alternative<Leaving>(message)) {
        add_departure({child, from.session}, child, now);
        leaving_children_.insert(child);
        children_.erase(found);
        children_changed_.notify_all();
        return true;
    }
    auto const* beat = std::get_if<Beat>(&message);
    if (beat == nullptr || !take_beat(child, from, *beat, now)) return false;
    from.beaten_at = now;
    answer = make_answer(child, beat->number, now);
    return true;
}

bool Subtree::take_beat(int from, Child& child, Beat const& beat, TimePoint now) {
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
    for (auto const& departure : beat.departures) add_departure(departure, from, now);
    return true;
}

void Subtree::add_departure(Departure const& departure, int via, TimePoint now) {
    auto const known = known_departures_.find(departure.node);
    if (known != known_departures_.end() && known->second == departure.session) return;
    auto const found = departures_.find(departure.node);
    if (found == departures_.end() || !(found->second.departure == departure)) {
        departures_[departure.node] = {departure, now, {via}};
        return;
    }
    auto& senders = found->second.via;
    if (std::ranges::find(senders, via) == senders.end()) senders.push_back(via);
}

/// Whether the supervisor knows all departures that this child has sent, its own one included.
bool Subtree::is_all_known_of(int child) const {
    return std::ranges::none_of(departures_, [&](auto const& each) {
        return std::ranges::find(each.second.via, child) != each.second.via.end();
    });
}

BeatAnswer Subtree::make_answer(int child, std::uint64_t number, TimePoint now) {
    constexpr auto never = std::numeric_limits<std::uint32_t>::max();
    auto& known = children_[child].known;
    if (is_all_known_of(child)) known = number;
    if (!requested_at_) return {number, requests_ | node_requests::look_for_newer_run, never, known};
    auto const age =
        std::max(std::chrono::duration_cast<std::chrono::milliseconds>(now - *requested_at_), 0ms);
    auto const requests =
        age < requests_valid_for ? requests_ : requests_ | node_requests::look_for_newer_run;
    return {number, requests, static_cast<std::uint32_t>(std::min<std::int64_t>(age.count(), never - 1)),
            known};
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
    // Those that were not sent yet come first: there may be more than a beat can carry.
    for (bool const is_first_time : {true, false}) {
        for (auto& [node, pending] : departures_) {
            if (beat.departures.size() == departures_max) break;
            if ((pending.sent_in == 0) != is_first_time || pending.sent_in == number_) continue;
            if (is_first_time) pending.sent_in = number_;
            beat.departures.push_back(pending.departure);
        }
    }
    std::ranges::sort(beat.departures, {}, &Departure::node);
    return beat;
}

void Subtree::take_answer(BeatAnswer const& answer, TimePoint now) {
    std::scoped_lock const lock(mutex_);
    requests_ = answer.requests;
    if (answer.age_ms != std::numeric_limits<std::uint32_t>::max())
        requested_at_ = now - std::chrono::milliseconds(answer.age_ms);
    note_known_departures(answer.known);
}

void Subtree::take_leaving_known() {
    std::scoped_lock const lock(mutex_);
    note_known_departures(number_);
}

void Subtree::note_known_departures(std::uint64_t number) {
    std::erase_if(departures_, [&](auto const& each) {
        auto const& [node, pending] = each;
        if (pending.sent_in == 0 || pending.sent_in > number) return false;
        known_departures_[node] = pending.departure.session;
        return true;
    });
}

std::vector<int> Subtree::take_known_children() {
    std::scoped_lock const lock(mutex_);
    std::vector<int> known;
    std::erase_if(leaving_children_, [&](int child) {
        bool const is_known = is_all_known_of(child);
        if (is_known) known.push_back(child);
        return is_known;
    });
    if (!known.empty()) children_changed_.notify_all();
    return known;
}

bool Subtree::has_known_children() const {
    std::scoped_lock const lock(mutex_);
    return std::ranges::any_of(leaving_children_, [this](int child) { return is_all_known_of(child); });
}

void Subtree::begin_uplink() {
    std::scoped_lock const lock(mutex_);
    for (auto& [node, pending] : departures_) pending.sent_in = 0;
}

bool Subtree::has_departures() const {
    std::scoped_lock const lock(mutex_);
    return !departures_.empty();
}

bool Subtree::has_unsent_departures() const {
    std::scoped_lock const lock(mutex_);
    return std::ranges::any_of(departures_, [](auto const& each) { return each.second.sent_in == 0; });
}

bool Subtree::has_new_departures(TimePoint now) const {
    std::scoped_lock const lock(mutex_);
    return std::ranges::any_of(departures_,
                               [&](auto const& each) { return now - each.second.added_at < new_for; });
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

void Subtree::wait_until_told(std::chrono::milliseconds limit) {
    std::unique_lock lock(mutex_);
    children_changed_.wait_for(lock, limit, [this] {
        return std::ranges::none_of(leaving_children_, [this](int child) { return is_all_known_of(child); });
    });
}

int Subtree::children() const {
    std::scoped_lock const lock(mutex_);
    return static_cast<int>(children_.size());
}

}  // namespace det::transport
