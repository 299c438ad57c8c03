#include "mailbox.hpp"

#include <cstring>

namespace det::transport::tcp {

bool Mailbox::may_buffer(Rank from, std::uint64_t size_bytes) const {
    auto const& peer = at(from);
    // A message that matches a posted receive may arrive behind this one. A message of this rank to itself
    // has no other place where it could wait.
    return peer.posted > 0 || from == own_ || peer.unexpected_bytes + size_bytes <= unexpected_limit_bytes_;
}

std::shared_ptr<RecvRequest> Mailbox::match(Rank from, MessageHead const& head) {
    MatchKey const key{from.value, head.tag};
    auto& peer = at(from);
    auto const queue = queues_.find(key);
    if (queue == queues_.end() || queue->second.posted.empty()) {
        if (!may_buffer(from, head.size)) return nullptr;
        peer.unexpected_bytes += head.size;
        return queues_[key].unexpected.emplace_back(std::make_shared<RecvRequest>());
    }
    auto request = std::move(queue->second.posted.front());
    queue->second.posted.pop_front();
    --peer.posted;
    if (queue->second.posted.empty()) queues_.erase(queue);
    return request;
}

std::shared_ptr<RecvRequest> Mailbox::post_receive(Rank from, Tag tag, MutableBytes into) {
    auto& queue = queues_[{from.value, tag.value}];
    if (queue.unexpected.empty()) {
        ++at(from).posted;
        return queue.posted.emplace_back(std::make_shared<RecvRequest>(RecvRequest{into}));
    }
    auto request = std::move(queue.unexpected.front());
    queue.unexpected.pop_front();
    at(from).unexpected_bytes -= request->size;
    if (queue.unexpected.empty()) queues_.erase({from.value, tag.value});
    return request;
}

void Mailbox::send_to_self(Tag tag, Bytes bytes) {
    auto const request = match(own_, {tag.value, 0, bytes.size()});
    request->begin(bytes.size());
    if (!bytes.empty()) std::memcpy(request->place(), bytes.data(), bytes.size());
    request->done = bytes.size();
}

void Mailbox::cancel(Rank from, Tag tag, std::shared_ptr<RecvRequest> const& request) {
    if (request->is_over()) return;
    if (request->has_size) {
        request->own.resize(request->size);
        request->into = {};
        return;
    }
    auto const queue = queues_.find({from.value, tag.value});
    if (queue == queues_.end()) return;
    at(from).posted -= static_cast<int>(std::erase(queue->second.posted, request));
    if (queue->second.posted.empty()) queues_.erase(queue);
}

}  // namespace det::transport::tcp
