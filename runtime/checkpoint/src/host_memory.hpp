#pragma once
#include <det/tensor/device_copies.hpp>

#include <cstddef>
#include <optional>
#include <utility>

namespace det::checkpoint {

inline constexpr std::size_t page_bytes = 4096;

/// Anonymous memory, aligned to pages. All pages are present, so that a copy into it causes no page faults.
/// Large memory uses huge pages if the kernel provides them: direct I/O of a block then needs a few segments
/// instead of a thousand, which is three times as fast.
class HostMemory {
public:
    HostMemory() = default;
    /// Allocates at least size_bytes.
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

/// Memory that a device copies to and from. If it cannot be pinned it is used unpinned: then the driver
/// copies through memory of its own, which is slower.
class PinnedMemory {
public:
    /// Makes the memory at least size_bytes large; keeps the present memory if it is large enough. Pins the
    /// memory if `devices` is not null.
    Status reserve(std::size_t size_bytes, tensor::DeviceCopies* devices);
    HostMemory const& memory() const { return memory_; }
    /// Returns the error if pinning failed. Later calls return nullopt until pinning fails again.
    std::optional<Error> take_refusal() { return std::exchange(refusal_, std::nullopt); }

private:
    HostMemory memory_;
    tensor::PinGuard pinned_;  // declared after memory_: it is unpinned before it is freed
    bool was_pin_tried_ = false;
    std::optional<Error> refusal_;
};

}  // namespace det::checkpoint
