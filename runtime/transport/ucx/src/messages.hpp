#pragma once
#include <det/transport/transport.hpp>

#include "worker.hpp"

namespace det::transport::ucx {

/// A message with its peer.
struct Route {
    Rank peer;
    Tag tag;
};

/// What waits for a rank that is lost ends with an Error, and its buffer is its owner's again.
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
    ucs_status_ptr_t request_ = nullptr;  // while it is under way
};

/// Looks what there is before it takes it, by matched probes, and so knows the size of a message that has no
/// room.
class ReceiveMessage final : public Operation {
public:
    ReceiveMessage(std::shared_ptr<Worker> worker, Route route, MutableBytes into)
        : worker_(std::move(worker)), route_(route), into_(into) {}
    ~ReceiveMessage() override;

    Status start();
    Result<bool> test() override;
    Result<std::size_t> wait() override;
    /// For the first of its match_key, which it leaves when it has found its message.
    Status find();

private:
    MatchKey match_key() const { return {route_.peer.value, route_.tag.value}; }
    Error cannot(ucs_status_t status) const;
    void leave_queue();

    std::shared_ptr<Worker> worker_;
    Route route_;
    MutableBytes into_;
    std::optional<std::size_t> size_;     // once it is found
    ucs_status_ptr_t request_ = nullptr;  // while its bytes are under way
    std::vector<std::byte> dropped_;      // a message for which the buffer has no room
};

}  // namespace det::transport::ucx
