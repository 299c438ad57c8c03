#pragma once
#include <det/collectives/device/device_backend.hpp>
#include <det/collectives/rank_group.hpp>
#include <det/transport/wait_policy.hpp>

namespace det::collectives::device {

/// Copies between the memory of this rank's device and host memory. `host` and `waits` are those of the
/// device group, and must outlive this object.
class HostCopies final : public tensor::DeviceCopies {
public:
    HostCopies(collectives::RankGroup& host, std::shared_ptr<DeviceBackend> devices,
               transport::WaitPolicy const& waits)
        : host_(host), devices_(std::move(devices)), waits_(waits) {}

    void use_stream(Stream stream) { stream_ = stream; }

    bool is_device_memory(void const* memory) const override { return devices_->is_device_memory(memory); }
    Result<tensor::PinGuard> pin(std::span<std::byte> host) override { return devices_->pin(host); }
    Result<std::unique_ptr<tensor::PendingCopies>> start(tensor::CopyDirection direction,
                                                         std::span<tensor::DeviceCopy const> copies) override;

private:
    Status wait_for_stream();

    collectives::RankGroup& host_;
    std::shared_ptr<DeviceBackend> devices_;
    transport::WaitPolicy const& waits_;
    Stream stream_ = nullptr;
};

}  // namespace det::collectives::device
