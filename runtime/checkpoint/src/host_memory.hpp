#pragma once
#include <det/tensor/device_copies.hpp>

#include <cstddef>
#include <optional>
#include <utility>

namespace det::checkpoint {

/// Memory from the kernel, aligned to pages, every page of it present: a copy into it takes no faults. Huge
/// pages where it is large enough for them: direct I/O of a block then is a few pieces for the disk and not a
/// thousand, three times as fast.
class HostMemory {
public:
    HostMemory() = default;
    /// At least so many bytes.
    static Result<HostMemory> allocate(std::size_t size_bytes);
    HostMemory(HostMemory&& other) noexcept;
    HostMemory& operator=(HostMemory&& other) noexcept;
    ~HostMemory();

    std::byte* data() const { return data_; }
    std::size_t size_bytes() const { return size_bytes_; }

private:
    std::byte* data_ = nullptr;
    std::size_t size_bytes_ = 0;
};

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
