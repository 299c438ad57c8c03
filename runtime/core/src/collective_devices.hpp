#pragma once
#include <det/checkpoint/device_memory.hpp>
#include <det/collectives/device_copies.hpp>

#include <vector>

namespace det::core {

/// The device of a rank, as those who save and load tensors see it.
class CollectiveDevices final : public checkpoint::DeviceMemory {
public:
    explicit CollectiveDevices(collectives::DeviceCopies& devices) : devices_(devices) {}

    bool holds(void const* memory) const override { return devices_.is_device_memory(memory); }
    Result<checkpoint::Pinned> pin(std::span<std::byte> host) override { return devices_.pin(host); }
    std::unique_ptr<checkpoint::CopiesUnderWay> start(
        checkpoint::CopyTo to, std::span<checkpoint::DeviceCopy const> copies) override {
        std::vector<collectives::DeviceCopy> asked;
        for (auto const& copy : copies) asked.push_back({copy.to, copy.from, copy.size_bytes});
        auto const direction =
            to == checkpoint::CopyTo::host ? collectives::CopyTo::host : collectives::CopyTo::device;
        return std::make_unique<UnderWay>(devices_.start(direction, asked));
    }

private:
    /// A handle waits when it ends.
    class UnderWay final : public checkpoint::CopiesUnderWay {
    public:
        explicit UnderWay(collectives::Handle handle) : handle_(std::move(handle)) {}
        Status wait() override { return handle_.wait(); }

    private:
        collectives::Handle handle_;
    };

    collectives::DeviceCopies& devices_;
};

}  // namespace det::core
