#include <det/liveness/pending_connections.hpp>

#include <algorithm>

namespace det::liveness {
namespace {

constexpr double credit_after_rest =
    5;  // so that a flood wakes the listener every 10 ms, not for each connection

}  // namespace

PendingLimits PendingLimits::for_ranks(int ranks) {
    constexpr std::size_t of_one_source_max = 256;  // the usual limit of open files is 1,024
    PendingLimits limits;
    limits.of_one_source =
        std::clamp(static_cast<std::size_t>(std::max(ranks, 0)), limits.of_one_source, of_one_source_max);
    limits.connections = std::max(limits.connections, limits.of_one_source);
    limits.failures_per_s = 250;  // each costs time of the training
    return limits;
}

PendingConnections::PendingConnections(PendingLimits const& limits, TimePoint now)
    : limits_(limits), credit_(static_cast<double>(limits.connections)), credit_at_(now) {}

void PendingConnections::refill(TimePoint now) {
    auto const passed_s = std::chrono::duration<double>(now - credit_at_).count();
    credit_ = std::min(credit_ + passed_s * limits_.failures_per_s, static_cast<double>(limits_.connections));
    credit_at_ = now;
    is_resting_ = credit_ < (is_resting_ ? credit_after_rest : 1);
}

bool PendingConnections::may_accept(TimePoint now) {
    refill(now);
    return !is_resting_ && excess() == nullptr;
}

void PendingConnections::rest(TimePoint now) {
    credit_ = 0;
    credit_at_ = now;
    is_resting_ = true;
}

void PendingConnections::add(Id id, std::string source, Origin origin, TimePoint now) {
    entries_.push_back({id, std::move(source), origin, now});
    credit_ -= 1;
}

PendingConnections::Entries::const_iterator PendingConnections::find(Id id) const {
    return std::ranges::find(entries_, id, &Entry::id);
}

void PendingConnections::remove_authenticated(Id id) {
    auto const found = find(id);
    if (found == entries_.end()) return;
    entries_.erase(found);
    credit_ += 1;
}

void PendingConnections::remove_failed(Id id) {
    if (auto const found = find(id); found != entries_.end()) entries_.erase(found);
}

void PendingConnections::restart_time(Id id, TimePoint now) {
    auto const found = find(id);
    if (found == entries_.end()) return;
    auto entry = *found;
    entries_.erase(found);
    entry.began = now;
    entries_.push_back(std::move(entry));
}

std::size_t PendingConnections::count_of(std::string const& source) const {
    return static_cast<std::size_t>(std::ranges::count(entries_, source, &Entry::source));
}

PendingConnections::Entry const* PendingConnections::oldest_of_heaviest_source(Origin origin) const {
    Entry const* heaviest = nullptr;
    std::size_t most = 0;
    for (auto const& entry : entries_) {
        if (entry.origin != origin) continue;
        auto const count = count_of(entry.source);
        if (count <= most) continue;
        most = count;
        heaviest = &entry;
    }
    return heaviest;
}

PendingConnections::Entry const* PendingConnections::excess() const {
    // add() is called for one connection at a time, so only the source of the newest can have too many.
    if (!entries_.empty() && count_of(entries_.back().source) > limits_.of_one_source)
        return &*std::ranges::find(entries_, entries_.back().source, &Entry::source);
    if (entries_.size() <= limits_.connections) return nullptr;
    auto const* const stranger = oldest_of_heaviest_source(Origin::stranger);
    return stranger != nullptr ? stranger : oldest_of_heaviest_source(Origin::node);
}

bool PendingConnections::may_close(Entry const& entry, TimePoint now) const {
    return entry.origin == Origin::stranger || now >= entry.began + limits_.node_protection;
}

std::optional<PendingConnections::Id> PendingConnections::find_excess(TimePoint now) const {
    auto const* const entry = excess();
    return entry != nullptr && may_close(*entry, now) ? std::optional(entry->id) : std::nullopt;
}

std::optional<PendingConnections::Id> PendingConnections::find_overdue(TimePoint now) const {
    bool const is_over = !entries_.empty() && now >= entries_.front().began + limits_.handshake;
    return is_over ? std::optional(entries_.front().id) : std::nullopt;
}

PendingConnections::TimePoint PendingConnections::next_change() const {
    auto next = TimePoint::max();
    if (!entries_.empty()) next = entries_.front().began + limits_.handshake;
    if (auto const* const entry = excess()) next = std::min(next, entry->began + limits_.node_protection);
    if (is_resting_) {
        auto const rest_s = (credit_after_rest - credit_) / limits_.failures_per_s;
        next = std::min(next, credit_at_ + std::chrono::ceil<std::chrono::milliseconds>(
                                               std::chrono::duration<double>(rest_s)));
    }
    return next;
}

}  // namespace det::liveness
