#include "thread_transport.hpp"

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <fmt/format.h>
#include <map>
#include <mutex>

namespace det::transport {
namespace {

class ThreadOperation;

/// A message for which no receive is posted yet. A small message is copied, unless the receiver has left. Any
/// other message is still in the buffer of the sender.
struct UnexpectedMessage {
    ThreadOperation* sender = nullptr;
    Bytes bytes;
    std::vector<std::byte> copy;
};

/// The queues for one sender, one receiver and one tag. At most one of the two queues is non-empty.
struct MatchQueue {
    std::deque<UnexpectedMessage> unexpected;
    std::deque<ThreadOperation*> posted;
};

struct Route {
    Rank from;
    Rank to;
    Tag tag;
};

/// The queues of all messages for one rank.
struct Mailbox {
    std::mutex mutex;
    std::condition_variable changed;
    std::map<std::pair<int, std::uint32_t>, MatchQueue> queues;  // by sender and tag
    std::vector<bool> has_left;                                  // by rank
};

struct Group {
    Group(std::size_t size, ThreadTransportOptions chosen) : options(chosen), mailboxes(size) {
        for (auto& mailbox : mailboxes) mailbox.has_left.resize(size);
    }

    ThreadTransportOptions options;
    std::vector<Mailbox> mailboxes;
};

/// A send or a receive. The mutex of the receiver's mailbox guards all members.
class ThreadOperation final : public Operation {
public:
    ThreadOperation(std::shared_ptr<Group> group, Route route, Rank peer, MutableBytes into)
        : group_(std::move(group)), route_(route), peer_(peer), into_(into) {}
    ~ThreadOperation() override { cancel(); }

    Result<bool> test() override;
    Result<std::size_t> wait() override;

    Mailbox& mailbox() const { return group_->mailboxes[static_cast<std::size_t>(route_.to.value)]; }
    MatchQueue& queue() const { return mailbox().queues[{route_.from.value, route_.tag.value}]; }
    void forget_empty_queue() const;
    bool is_over() const { return is_done_ || mailbox().has_left[static_cast<std::size_t>(peer_.value)]; }
    void complete(std::size_t size);
    /// Copies as much of a message as fits into the buffer of the receive, and completes the receive.
    void deliver(Bytes bytes);

private:
    void cancel();

    std::shared_ptr<Group> group_;
    Route route_;
    Rank peer_;
    MutableBytes into_;
    std::size_t size_ = 0;
    bool is_done_ = false;
};

Result<bool> ThreadOperation::test() {
    std::lock_guard const lock(mailbox().mutex);
    return is_over();
}

Result<std::size_t> ThreadOperation::wait() {
    std::unique_lock lock(mailbox().mutex);
    mailbox().changed.wait(lock, [this] { return is_over(); });
    if (is_done_) return size_;
    return Error{codes::transport,
                 fmt::format("rank {} has left: no message from rank {} to rank {} (tag {})", peer_.value,
                             route_.from.value, route_.to.value, route_.tag.value)};
}

void ThreadOperation::complete(std::size_t size) {
    size_ = size;
    is_done_ = true;
    mailbox().changed.notify_all();
}

void ThreadOperation::deliver(Bytes bytes) {
    auto const size = std::min(bytes.size(), into_.size());
    if (size != 0) std::memcpy(into_.data(), bytes.data(), size);
    complete(bytes.size());
}

void ThreadOperation::cancel() {
    std::lock_guard const lock(mailbox().mutex);
    if (is_done_) return;
    std::erase(queue().posted, this);
    std::erase_if(queue().unexpected,
                  [this](UnexpectedMessage const& message) { return message.sender == this; });
    forget_empty_queue();
}

/// Keeps the map small: programs use many tags, but few at a time.
void ThreadOperation::forget_empty_queue() const {
    if (!queue().unexpected.empty() || !queue().posted.empty()) return;
    mailbox().queues.erase({route_.from.value, route_.tag.value});
}

class ThreadTransport final : public Transport {
public:
    ThreadTransport(std::shared_ptr<Group> group, Rank rank)
        : Transport(rank, static_cast<int>(group->mailboxes.size())), group_(std::move(group)) {}
    ~ThreadTransport() override { abandon(); }

    std::string_view name() const override { return "threads"; }
    void abandon() noexcept override;
    Status check_ranks() const override;

private:
    Result<std::unique_ptr<Operation>> begin_send(Rank to, Tag tag, Bytes bytes) override;
    Result<std::unique_ptr<Operation>> begin_receive(Rank from, Tag tag, MutableBytes into) override;

    Status check_not_abandoned() const;

    std::shared_ptr<Group> group_;
    bool has_left_ = false;
};

void ThreadTransport::abandon() noexcept {
    has_left_ = true;
    for (auto& mailbox : group_->mailboxes) {
        std::lock_guard const lock(mailbox.mutex);
        mailbox.has_left[static_cast<std::size_t>(rank().value)] = true;
        mailbox.changed.notify_all();
    }
}

Status ThreadTransport::check_ranks() const {
    auto& mailbox = group_->mailboxes[static_cast<std::size_t>(rank().value)];
    std::lock_guard const lock(mailbox.mutex);
    auto const left = std::ranges::find(mailbox.has_left, true);
    if (left == mailbox.has_left.end()) return Ok{};
    return Error{codes::transport, fmt::format("rank {} has left", left - mailbox.has_left.begin())};
}

Status ThreadTransport::check_not_abandoned() const {
    if (!has_left_) return Ok{};
    return Error{codes::misuse, fmt::format("rank {} has left the others", rank().value)};
}

Result<std::unique_ptr<Operation>> ThreadTransport::begin_send(Rank to, Tag tag, Bytes bytes) {
    DET_TRY(check_not_abandoned());
    auto operation = std::make_unique<ThreadOperation>(group_, Route{rank(), to, tag}, to, MutableBytes{});
    std::lock_guard const lock(operation->mailbox().mutex);
    auto& queue = operation->queue();
    if (!queue.posted.empty()) {
        queue.posted.front()->deliver(bytes);
        queue.posted.pop_front();
        operation->complete(bytes.size());
        operation->forget_empty_queue();
    } else if (bytes.size() <= group_->options.eager_limit_bytes && !operation->is_over()) {
        UnexpectedMessage message{nullptr, {}, {bytes.begin(), bytes.end()}};
        message.bytes = message.copy;  // stays valid, because a moved vector keeps its memory
        queue.unexpected.push_back(std::move(message));
        operation->complete(bytes.size());
    } else {
        queue.unexpected.push_back({operation.get(), bytes, {}});
    }
    return Result<std::unique_ptr<Operation>>(std::move(operation));
}

Result<std::unique_ptr<Operation>> ThreadTransport::begin_receive(Rank from, Tag tag, MutableBytes into) {
    DET_TRY(check_not_abandoned());
    auto operation = std::make_unique<ThreadOperation>(group_, Route{from, rank(), tag}, from, into);
    std::lock_guard const lock(operation->mailbox().mutex);
    auto& queue = operation->queue();
    if (queue.unexpected.empty()) {
        queue.posted.push_back(operation.get());
    } else {
        auto const& message = queue.unexpected.front();
        operation->deliver(message.bytes);
        if (message.sender != nullptr) message.sender->complete(message.bytes.size());
        queue.unexpected.pop_front();
        operation->forget_empty_queue();
    }
    return Result<std::unique_ptr<Operation>>(std::move(operation));
}

}  // namespace

std::vector<std::unique_ptr<Transport>> make_thread_transports(int size, ThreadTransportOptions options) {
    auto const group = std::make_shared<Group>(static_cast<std::size_t>(size), options);
    std::vector<std::unique_ptr<Transport>> transports;
    for (int rank = 0; rank < size; ++rank) {
        transports.push_back(std::make_unique<ThreadTransport>(group, Rank{rank}));
    }
    return transports;
}

}  // namespace det::transport
