#pragma once
#include <det/collectives/device/device_backend.hpp>
#include <det/collectives/rank_group.hpp>
#include <det/liveness/wait_policy.hpp>

#include <functional>

namespace det::collectives::device {

/// Waits for devices: blocks until `is_over` returns true. Fails if `is_over` fails, a rank is lost or the
/// time limit has passed.
///
/// \param ranks nullptr: the wait does not depend on other ranks
/// \param what for messages, for example "rank 0 has waited for devices in barrier(), its operation 3"
Status wait_until(std::function<Result<bool>()> const& is_over, liveness::WaitPolicy const& policy,
                  collectives::RankGroup* ranks, std::string const& what);

/// Fails with codes::misuse if the stream is captured into a graph: the device would do the work only when
/// the graph is launched.
Status check_not_capturing(DeviceBackend const& devices, Stream stream);

/// Copies between the memory of this rank's device and host memory. `host` and `waits` are those of the
/// device group, and must outlive this object.
class HostCopies final : public tensor::DeviceCopies {
public:
    HostCopies(collectives::RankGroup& host, std::shared_ptr<DeviceBackend> devices,
               liveness::WaitPolicy const& waits)
        : host_(host), devices_(std::move(devices)), waits_(waits) {}

    void use_stream(Stream stream) { stream_ = stream; }

    bool is_device_memory(void const* memory) const override { return devices_->is_device_memory(memory); }
    Result<tensor::PinGuard> pin(std::span<std::byte> host) override { return devices_->pin(host); }
    Result<std::unique_ptr<tensor::PendingCopies>> start(tensor::CopyDirection direction,
                                                         std::span<tensor::DeviceCopy const> copies) override;

private:
    Status wait_for_stream();
    Result<Stream> stream_for(tensor::CopyDirection direction);

    collectives::RankGroup& host_;
    std::shared_ptr<DeviceBackend> devices_;
    liveness::WaitPolicy const& waits_;
    Stream stream_ = nullptr;
    std::unique_ptr<DeviceStream> own_stream_;  // made by the first copy to the host
};

}  // namespace det::collectives::device
