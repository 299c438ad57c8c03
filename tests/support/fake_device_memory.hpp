#pragma once
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <sys/mman.h>
#include <system_error>
#include <unistd.h>

/// Simulates device memory: its addresses are not accessible (SIGSEGV) except through copy(), which plays the
/// device.
class FakeDeviceMemory {
public:
    explicit FakeDeviceMemory(std::size_t size_bytes) : size_bytes_(size_bytes) {
        int const pages = ::memfd_create("fake-device", MFD_CLOEXEC);
        bool const created = pages >= 0 && ::ftruncate(pages, static_cast<off_t>(size_bytes)) == 0;
        if (created) {
            device_view_ = map(pages, PROT_NONE);
            host_view_ = map(pages, PROT_READ | PROT_WRITE);
        }
        if (pages >= 0) ::close(pages);
        if (!created || device_view_ == nullptr || host_view_ == nullptr)
            throw std::system_error(errno, std::generic_category(), "memory of a fake device");
    }
    FakeDeviceMemory(FakeDeviceMemory const&) = delete;
    FakeDeviceMemory& operator=(FakeDeviceMemory const&) = delete;
    ~FakeDeviceMemory() {
        ::munmap(device_view_, size_bytes_);
        ::munmap(host_view_, size_bytes_);
    }

    /// Allocates `size_bytes`. Returns nullptr if not enough memory is left.
    std::byte* take(std::size_t size_bytes) {
        constexpr std::size_t alignment = 256;
        if (size_bytes > size_bytes_ - taken_) return nullptr;
        auto* const at = device_view_ + taken_;
        taken_ += (size_bytes + alignment - 1) / alignment * alignment;
        return at;
    }
    bool holds(void const* memory) const {
        auto const* const at = static_cast<std::byte const*>(memory);
        return at >= device_view_ && at < device_view_ + size_bytes_;
    }
    void copy(void* to, void const* from, std::size_t size_bytes) const {
        std::memcpy(const_cast<void*>(to_host_view(to)), to_host_view(from), size_bytes);
    }

private:
    std::byte* map(int pages, int protection) const {
        void* const at = ::mmap(nullptr, size_bytes_, protection, MAP_SHARED, pages, 0);
        return at == MAP_FAILED ? nullptr : static_cast<std::byte*>(at);
    }
    void const* to_host_view(void const* memory) const {
        return holds(memory) ? host_view_ + (static_cast<std::byte const*>(memory) - device_view_) : memory;
    }

    std::size_t size_bytes_;
    std::size_t taken_ = 0;
    std::byte* device_view_ = nullptr;
    std::byte* host_view_ = nullptr;
};
