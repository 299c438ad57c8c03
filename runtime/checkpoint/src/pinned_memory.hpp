#pragma once
#include <det/tensor/device_copies.hpp>

#include <optional>
#include <utility>

#include "host_memory.hpp"

namespace det::checkpoint {

/// Memory that a device may copy to and from. Where it can't be pinned it is used as it is: the driver copies
/// by way of memory of its own then, and slower.
class PinnedMemory {
public:
    /// At least so many bytes, what is there already where that is enough. `devices`: pinned for these; null:
    /// as it is.
    Status make_room(std::size_t size_bytes, tensor::DeviceCopies* devices);
    HostMemory const& memory() const { return memory_; }
    /// Why it could not be pinned: once.
    std::optional<Error> take_refusal() { return std::exchange(refusal_, std::nullopt); }

private:
    HostMemory memory_;
    tensor::PinGuard pinned_;  // after the memory: it is given back first
    bool was_tried_ = false;
    std::optional<Error> refusal_;
};

}  // namespace det::checkpoint
