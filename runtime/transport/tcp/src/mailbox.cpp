#include "mailbox.hpp"

#include <cstring>

namespace det::transport {

bool Mailbox::may_keep(Rank from, std::uint64_t size_bytes) const {
    auto const& peer = at(from);
    // What is waited for may lie behind it, and what we send to ourselves is kept nowhere else.
    return peer.asked_for > 0 || from == own_ || peer.early_bytes + size_bytes <= early_limit_bytes_;
}

std::shared_ptr<Arrival> Mailbox::place_for(Rank from, MessageHead const& head) {
    LaneKey const key{from.value, head.tag};
    auto& peer = at(from);
    auto const lane = lanes_.find(key);
    if (lane == lanes_.end() || lane->second.asked_for.empty()) {
        if (!may_keep(from, head.size)) return nullptr;
        peer.early_bytes += head.size;
        return lanes_[key].unexpected.emplace_back(std::make_shared<Arrival>());
    }
    auto arrival = std::move(lane->second.asked_for.front());
    lane->second.asked_for.pop_front();
    --peer.asked_for;
    if (lane->second.asked_for.empty()) lanes_.erase(lane);
    return arrival;
}

std::shared_ptr<Arrival> Mailbox::ask_for(Rank from, Tag tag, MutableBytes into) {
    auto& lane = lanes_[{from.value, tag.value}];
    if (lane.unexpected.empty()) {
        ++at(from).asked_for;
        return lane.asked_for.emplace_back(std::make_shared<Arrival>(Arrival{into}));
    }
    auto arrival = std::move(lane.unexpected.front());
    lane.unexpected.pop_front();
    at(from).early_bytes -= arrival->size;
    if (lane.unexpected.empty()) lanes_.erase({from.value, tag.value});
    return arrival;
}

void Mailbox::deliver_to_self(Tag tag, Bytes bytes) {
    auto const arrival = place_for(own_, {tag.value, 0, bytes.size()});
    arrival->begin(bytes.size());
    if (!bytes.empty()) std::memcpy(arrival->place(), bytes.data(), bytes.size());
    arrival->done = bytes.size();
}

void Mailbox::take_back(Rank from, Tag tag, std::shared_ptr<Arrival> const& arrival) {
    if (arrival->is_over()) return;
    if (arrival->has_size) {
        arrival->own.resize(arrival->size);
        arrival->into = {};
        return;
    }
    auto const lane = lanes_.find({from.value, tag.value});
    if (lane == lanes_.end()) return;
    at(from).asked_for -= static_cast<int>(std::erase(lane->second.asked_for, arrival));
    if (lane->second.asked_for.empty()) lanes_.erase(lane);
}

}  // namespace det::transport
