#pragma once
#include <det/foundation/result.hpp>

#include <cstddef>
#include <memory>
#include <span>

namespace det::checkpoint {

enum class CopyTo { host, device };

struct DeviceCopy {
    std::byte* to = nullptr;
    std::byte const* from = nullptr;
    std::size_t size_bytes = 0;
};

/// Copies that were begun. Destroying it waits for them: until then the memory stays.
class CopiesUnderWay {
public:
    virtual ~CopiesUnderWay() = default;
    virtual Status wait() = 0;
};

/// Keeps memory of the host pinned, as long as it lives.
using Pinned = std::shared_ptr<void>;

/// The memory of this rank's device, which only the device reads and writes. It is used by the thread that
/// saves or loads, and by no other.
class DeviceMemory {
public:
    virtual ~DeviceMemory() = default;
    virtual bool holds(void const* memory) const = 0;
    /// From then on the device moves it by itself, at its full speed.
    virtual Result<Pinned> pin(std::span<std::byte> host) = 0;
    /// All of them together, behind what the device was given to do before. What goes wrong wait() tells.
    virtual std::unique_ptr<CopiesUnderWay> start(CopyTo to, std::span<DeviceCopy const> copies) = 0;
};

}  // namespace det::checkpoint
