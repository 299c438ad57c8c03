#include "messages.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/socket.h>
#include <sys/uio.h>

namespace det::transport::tcp {

void RecvRequest::begin(std::uint64_t message_size) {
    size = message_size;
    has_size = true;
    if (size > into.size()) own.resize(size);
}

Progress progress_of(ssize_t result) {
    if (result > 0) return Progress::something;
    if (result == 0) return Progress::broken;
    return errno == EAGAIN || errno == EINTR || errno == EINPROGRESS || errno == ENOTCONN ? Progress::nothing
                                                                                          : Progress::broken;
}

Progress both(Progress a, Progress b) {
    if (a == Progress::broken || b == Progress::broken) return Progress::broken;
    return a == Progress::something ? a : b;
}

bool MessageWriter::cancel(SendRequest const& request) {
    auto const here =
        std::ranges::find_if(requests_, [&](auto const& waiting) { return waiting.get() == &request; });
    if (here == requests_.end()) return false;
    if (!request.has_begun())
        *here = std::make_shared<SendRequest>(SendRequest{{cancelled_tag, request.head.number, 0}, {}});
    return true;
}

bool MessageWriter::has_cancelled() const {
    return std::ranges::any_of(requests_, [](auto const& one) { return one->head.tag == cancelled_tag; });
}

Progress MessageWriter::advance(UniqueFd const& socket) {
    if (requests_.empty()) return Progress::nothing;
    auto& request = *requests_.front();
    auto const head_left = sizeof request.head - std::min(request.done, sizeof request.head);
    auto const bytes_done = request.done - (sizeof request.head - head_left);
    auto* const head = reinterpret_cast<std::byte*>(&request.head) + (sizeof request.head - head_left);
    iovec parts[] = {
        {head, head_left},
        {const_cast<std::byte*>(request.bytes.data()) + bytes_done, request.bytes.size() - bytes_done}};
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = 2;
    auto const sent = ::sendmsg(socket.get(), &message, MSG_NOSIGNAL);
    if (sent > 0) request.done += static_cast<std::size_t>(sent);
    if (request.is_over()) requests_.pop_front();
    return progress_of(sent);
}

Progress MessageReader::advance(UniqueFd const& socket, Match const& match) {
    bool has_moved = false;
    for (bool has_read = false;;) {
        if (request_ == nullptr && begin_message(match)) has_moved = true;
        if (is_blocked()) break;
        if (request_ != nullptr) {
            take_buffered();
            if (request_->is_over()) {
                request_.reset();
                continue;
            }
        }
        if (has_read) break;
        auto const received = read(socket);
        if (received <= 0) return has_moved ? Progress::something : progress_of(received);
        has_read = has_moved = true;
    }
    return has_moved ? Progress::something : Progress::nothing;
}

bool MessageReader::begin_message(Match const& match) {
    if (buffered() < sizeof(MessageHead)) return false;
    MessageHead head;
    std::memcpy(&head, buffer_.data() + begin_, sizeof head);
    request_ = match(head);
    if (request_ == nullptr) return false;
    begin_ += sizeof head;
    request_->begin(head.size);
    return true;
}

void MessageReader::take_buffered() {
    auto const size = std::min<std::uint64_t>(buffered(), request_->size - request_->done);
    if (size == 0) return;
    std::memcpy(request_->data() + request_->done, buffer_.data() + begin_, size);
    request_->done += size;
    begin_ += size;
}

ssize_t MessageReader::read(UniqueFd const& socket) {
    if (request_ != nullptr) {
        auto const received =
            ::recv(socket.get(), request_->data() + request_->done, request_->size - request_->done, 0);
        if (received > 0) request_->done += static_cast<std::uint64_t>(received);
        return received;
    }
    std::memmove(buffer_.data(), buffer_.data() + begin_, buffered());
    end_ -= begin_;
    begin_ = 0;
    auto const received = ::recv(socket.get(), buffer_.data() + end_, buffer_.size() - end_, 0);
    if (received > 0) end_ += static_cast<std::size_t>(received);
    return received;
}

bool Mailbox::may_buffer(Rank from, std::uint64_t size_bytes) const {
    auto const& peer = at(from);
    // A message that matches a posted receive may arrive behind this message. A message of this rank to
    // itself can be stored nowhere else.
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
    if (!bytes.empty()) std::memcpy(request->data(), bytes.data(), bytes.size());
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
