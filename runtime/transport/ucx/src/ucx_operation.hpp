#pragma once
#include <det/transport/transport.hpp>

#include "ucx_session.hpp"

namespace det::transport {

/// A message with its peer.
struct UcxRoute {
    Rank peer;
    Tag tag;
};

/// What waits for a rank that is lost ends with an Error, and its buffer is its owner's again.
class UcxSend final : public Operation {
public:
    UcxSend(std::shared_ptr<UcxSession> session, UcxRoute route, Bytes bytes)
        : session_(std::move(session)), route_(route), bytes_(bytes) {}
    ~UcxSend() override;

    Status start();
    Result<bool> test() override;
    Result<std::size_t> wait() override;

private:
    Error cannot(ucs_status_t status) const;

    std::shared_ptr<UcxSession> session_;
    UcxRoute route_;
    Bytes bytes_;
    ucs_status_ptr_t request_ = nullptr;  // while it is under way
};

/// Looks what there is before it takes it, by matched probes, and so knows the size of a message that has no
/// room.
class UcxReceive final : public Operation {
public:
    UcxReceive(std::shared_ptr<UcxSession> session, UcxRoute route, MutableBytes into)
        : session_(std::move(session)), route_(route), into_(into) {}
    ~UcxReceive() override;

    Status start();
    Result<bool> test() override;
    Result<std::size_t> wait() override;
    /// For the first of its lane, which it leaves when it has found its message.
    Status find();

private:
    UcxLane lane() const { return {route_.peer.value, route_.tag.value}; }
    Error cannot(ucs_status_t status) const;
    void leave_lane();

    std::shared_ptr<UcxSession> session_;
    UcxRoute route_;
    MutableBytes into_;
    std::optional<std::size_t> size_;     // once it is found
    ucs_status_ptr_t request_ = nullptr;  // while its bytes are under way
    std::vector<std::byte> dropped_;      // a message for which the buffer has no room
};

}  // namespace det::transport
