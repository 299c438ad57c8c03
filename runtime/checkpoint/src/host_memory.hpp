#pragma once
#include <det/foundation/result.hpp>

#include <cstddef>

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

}  // namespace det::checkpoint
