#include "message_stream.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/socket.h>
#include <sys/uio.h>

namespace det::transport {

void Arrival::begin(std::uint64_t message_size) {
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

bool MessageWriter::take_back(Departure const& departure) {
    auto const here =
        std::ranges::find_if(departures_, [&](auto const& waiting) { return waiting.get() == &departure; });
    if (here == departures_.end()) return false;
    if (!departure.has_begun())
        *here = std::make_shared<Departure>(Departure{{taken_back_tag, departure.head.number, 0}, {}});
    return true;
}

bool MessageWriter::has_taken_back() const {
    return std::ranges::any_of(departures_, [](auto const& one) { return one->head.tag == taken_back_tag; });
}

Progress MessageWriter::advance(UniqueFd const& socket) {
    if (departures_.empty()) return Progress::nothing;
    auto& departure = *departures_.front();
    auto const head_left = sizeof departure.head - std::min(departure.done, sizeof departure.head);
    auto const bytes_done = departure.done - (sizeof departure.head - head_left);
    auto* const head = reinterpret_cast<std::byte*>(&departure.head) + (sizeof departure.head - head_left);
    iovec parts[] = {
        {head, head_left},
        {const_cast<std::byte*>(departure.bytes.data()) + bytes_done, departure.bytes.size() - bytes_done}};
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = 2;
    auto const sent = ::sendmsg(socket.get(), &message, MSG_NOSIGNAL);
    if (sent > 0) departure.done += static_cast<std::size_t>(sent);
    if (departure.is_over()) departures_.pop_front();
    return progress_of(sent);
}

Progress MessageReader::advance(UniqueFd const& socket, Place const& place) {
    bool has_moved = false;
    for (bool has_read = false;;) {
        if (arrival_ == nullptr && begin_message(place)) has_moved = true;
        if (is_held_up()) break;
        if (arrival_ != nullptr) {
            take_buffered();
            if (arrival_->is_over()) {
                arrival_.reset();
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

bool MessageReader::begin_message(Place const& place) {
    if (buffered() < sizeof(MessageHead)) return false;
    MessageHead head;
    std::memcpy(&head, buffer_.data() + begin_, sizeof head);
    arrival_ = place(head);
    if (arrival_ == nullptr) return false;
    begin_ += sizeof head;
    arrival_->begin(head.size);
    return true;
}

void MessageReader::take_buffered() {
    auto const size = std::min<std::uint64_t>(buffered(), arrival_->size - arrival_->done);
    if (size == 0) return;
    std::memcpy(arrival_->place() + arrival_->done, buffer_.data() + begin_, size);
    arrival_->done += size;
    begin_ += size;
}

ssize_t MessageReader::read(UniqueFd const& socket) {
    if (arrival_ != nullptr) {
        auto const received =
            ::recv(socket.get(), arrival_->place() + arrival_->done, arrival_->size - arrival_->done, 0);
        if (received > 0) arrival_->done += static_cast<std::uint64_t>(received);
        return received;
    }
    std::memmove(buffer_.data(), buffer_.data() + begin_, buffered());
    end_ -= begin_;
    begin_ = 0;
    auto const received = ::recv(socket.get(), buffer_.data() + end_, buffer_.size() - end_, 0);
    if (received > 0) end_ += static_cast<std::size_t>(received);
    return received;
}

}  // namespace det::transport
