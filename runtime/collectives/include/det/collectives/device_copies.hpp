#pragma once
#include <det/collectives/handle.hpp>

#include <cstddef>
#include <memory>
#include <span>

namespace det::collectives {

enum class CopyTo { host, device };

struct DeviceCopy {
    void* to = nullptr;
    void const* from = nullptr;
    std::size_t size_bytes = 0;
};

/// Keeps memory of the host pinned, as long as it lives.
using Pinned = std::shared_ptr<void>;

/// Copies between the memory of this rank's device and the host's, for those who need them beside operations:
/// checkpoints. Not collective.
class DeviceCopies {
public:
    virtual ~DeviceCopies() = default;
    virtual bool is_device_memory(void const* memory) const = 0;
    /// From then on the device moves it by itself, at its full speed.
    virtual Result<Pinned> pin(std::span<std::byte> host) = 0;
    /// Waits until the stream (DistributedContext::use_stream) has done what is on it, by the rules for
    /// operations; then puts all of these on the stream. What has been started so waits for no other rank.
    virtual Handle start(CopyTo to, std::span<DeviceCopy const> copies) = 0;
};

}  // namespace det::collectives
