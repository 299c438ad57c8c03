#pragma once
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <sys/mman.h>
#include <system_error>
#include <unistd.h>

/// Memory of a device that there is not: whoever touches it dies of it, but for copy(), which is the device.
class FakeDeviceMemory {
public:
    explicit FakeDeviceMemory(std::size_t size_bytes) : size_bytes_(size_bytes) {
        int const pages = ::memfd_create("fake-device", MFD_CLOEXEC);
        bool const is_there = pages >= 0 && ::ftruncate(pages, static_cast<off_t>(size_bytes)) == 0;
        if (is_there) {
            outside_ = map(pages, PROT_NONE);
            inside_ = map(pages, PROT_READ | PROT_WRITE);
        }
        if (pages >= 0) ::close(pages);
        if (!is_there || outside_ == nullptr || inside_ == nullptr)
            throw std::system_error(errno, std::generic_category(), "memory of a fake device");
    }
    FakeDeviceMemory(FakeDeviceMemory const&) = delete;
    FakeDeviceMemory& operator=(FakeDeviceMemory const&) = delete;
    ~FakeDeviceMemory() {
        ::munmap(outside_, size_bytes_);
        ::munmap(inside_, size_bytes_);
    }

    /// The next so many bytes of it, as long as there are any; nullptr then.
    std::byte* take(std::size_t size_bytes) {
        constexpr std::size_t alignment = 256;
        if (size_bytes > size_bytes_ - taken_) return nullptr;
        auto* const at = outside_ + taken_;
        taken_ += (size_bytes + alignment - 1) / alignment * alignment;
        return at;
    }
    bool holds(void const* memory) const {
        auto const* const at = static_cast<std::byte const*>(memory);
        return at >= outside_ && at < outside_ + size_bytes_;
    }
    void copy(void* to, void const* from, std::size_t size_bytes) const {
        std::memcpy(const_cast<void*>(seen_inside(to)), seen_inside(from), size_bytes);
    }

private:
    std::byte* map(int pages, int protection) const {
        void* const at = ::mmap(nullptr, size_bytes_, protection, MAP_SHARED, pages, 0);
        return at == MAP_FAILED ? nullptr : static_cast<std::byte*>(at);
    }
    void const* seen_inside(void const* memory) const {
        return holds(memory) ? inside_ + (static_cast<std::byte const*>(memory) - outside_) : memory;
    }

    std::size_t size_bytes_;
    std::size_t taken_ = 0;
    std::byte* outside_ = nullptr;
    std::byte* inside_ = nullptr;
};
