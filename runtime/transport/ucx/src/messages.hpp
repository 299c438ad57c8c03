#pragma once
#include <det/transport/transport.hpp>

#include "worker.hpp"

namespace det::transport::ucx {

/// The peer and the tag of a message.
struct Route {
    Rank peer;
    Tag tag;
};

/// The destructor cancels an incomplete send, if need be by closing the endpoint: UCX can't cancel a large
/// send.
class SendMessage final : public Operation {
public:
    SendMessage(std::shared_ptr<Worker> worker, Route route, Bytes bytes)
        : worker_(std::move(worker)), route_(route), bytes_(bytes) {}
    ~SendMessage() override;

    Status start();
    Result<bool> test() override;
    Result<std::size_t> wait() override;

private:
    Error cannot(ucs_status_t status) const;

    std::shared_ptr<Worker> worker_;
    Route route_;
    Bytes bytes_;
    ucs_status_ptr_t request_ = nullptr;  // nullptr: complete or not started
};

/// Receives by matched probes, so that the size of a message is known before it is received, even if it does
/// not fit into the buffer.
class ReceiveMessage final : public Operation {
public:
    ReceiveMessage(std::shared_ptr<Worker> worker, Route route, MutableBytes into)
        : worker_(std::move(worker)), route_(route), into_(into) {}
    ~ReceiveMessage() override;

    Status start();
    Result<bool> test() override;
    Result<std::size_t> wait() override;
    /// Must be called only on the first receive of a key. Probes for the message; if it has arrived, starts
    /// to receive it and leaves the queue.
    Status find();

private:
    MatchKey match_key() const { return {route_.peer.value, route_.tag.value}; }
    Error cannot(ucs_status_t status) const;
    void leave_queue();

    std::shared_ptr<Worker> worker_;
    Route route_;
    MutableBytes into_;
    std::optional<std::size_t> size_;     // nullopt: the message has not been found yet
    ucs_status_ptr_t request_ = nullptr;  // the receive of the found message, until it is complete
    std::vector<std::byte> dropped_;      // a message that does not fit into the buffer
};

}  // namespace det::transport::ucx
