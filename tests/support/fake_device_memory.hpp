#pragma once
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <map>
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

    /// Allocates `size_bytes`. Returns nullptr if there is no free range of that size.
    std::byte* take(std::size_t size_bytes) {
        constexpr std::size_t alignment = 256;
        auto const size = (size_bytes + alignment - 1) / alignment * alignment;
        std::size_t begin = 0;
        for (auto const& [taken_begin, taken_end] : taken_) {
            if (taken_begin - begin >= size) break;
            begin = taken_end;
        }
        if (size > size_bytes_ - begin) return nullptr;
        taken_.emplace(begin, begin + size);
        return device_view_ + begin;
    }
    /// Frees what take() has returned. Returns whether it was allocated.
    bool give_back(void const* memory) {
        if (!holds(memory)) return false;
        return taken_.erase(static_cast<std::size_t>(static_cast<std::byte const*>(memory) - device_view_)) !=
               0;
    }
    std::size_t size_bytes() const { return size_bytes_; }
    std::size_t free_bytes() const {
        auto free = size_bytes_;
        for (auto const& [begin, end] : taken_) free -= end - begin;
        return free;
    }
    bool holds(void const* memory) const {
        auto const* const at = static_cast<std::byte const*>(memory);
        return at >= device_view_ && at < device_view_ + size_bytes_;
    }
    void copy(void* to, void const* from, std::size_t size_bytes) const {
        std::memcpy(const_cast<void*>(to_host_view(to)), to_host_view(from), size_bytes);
    }
    void fill(void* to, unsigned char value, std::size_t size_bytes) const {
        std::memset(const_cast<void*>(to_host_view(to)), value, size_bytes);
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
    std::map<std::size_t, std::size_t> taken_;  // begin and end of each allocation
    std::byte* device_view_ = nullptr;
    std::byte* host_view_ = nullptr;
};
