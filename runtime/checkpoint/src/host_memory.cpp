#include "host_memory.hpp"

#include <cerrno>
#include <cstdint>
#include <sys/mman.h>
#include <utility>

namespace det::checkpoint {
namespace {

constexpr std::size_t huge_page_bytes = std::size_t{2} << 20;

std::size_t round_up(std::size_t size, std::size_t unit) { return (size + unit - 1) / unit * unit; }

/// Makes all pages present. Kernels before 5.14 do not have MADV_POPULATE_WRITE, so each page is written
/// there.
void populate_pages(std::byte* data, std::size_t size_bytes) {
#ifdef MADV_POPULATE_WRITE
    if (::madvise(data, size_bytes, MADV_POPULATE_WRITE) == 0) return;
#endif
    for (std::size_t at = 0; at < size_bytes; at += page_bytes)
        *const_cast<std::byte volatile*>(data + at) = std::byte{0};
}

}  // namespace

Result<HostMemory> HostMemory::allocate(std::size_t size_bytes) {
    bool const is_large = size_bytes >= huge_page_bytes;
    auto const unit = is_large ? huge_page_bytes : page_bytes;
    auto const size = round_up(size_bytes == 0 ? 1 : size_bytes, unit);
    // A huge page begins at a multiple of its size, so the mapping is larger than needed, and the parts
    // before and after the aligned memory are unmapped.
    auto const mapped = is_large ? size + huge_page_bytes : size;
    void* const raw = ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (raw == MAP_FAILED) return os_error("get memory for a copy of the state", errno);
    auto* data = static_cast<std::byte*>(raw);
    if (is_large) {
        auto const address = reinterpret_cast<std::uintptr_t>(raw);
        auto const before = round_up(address, huge_page_bytes) - address;
        if (before != 0) ::munmap(data, before);
        data += before;
        if (mapped - before != size) ::munmap(data + size, mapped - before - size);
        ::madvise(data, size, MADV_HUGEPAGE);
    }
    populate_pages(data, size);
    HostMemory memory;
    memory.data_ = data;
    memory.size_bytes_ = size;
    return memory;
}

HostMemory::HostMemory(HostMemory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_bytes_(std::exchange(other.size_bytes_, 0)) {}

HostMemory& HostMemory::operator=(HostMemory&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_bytes_, other.size_bytes_);
    return *this;
}

HostMemory::~HostMemory() {
    if (data_ != nullptr) ::munmap(data_, size_bytes_);
}

Status PinnedMemory::reserve(std::size_t size_bytes, tensor::DeviceCopies* devices) {
    if (memory_.size_bytes() < size_bytes) {
        pinned_.reset();
        was_pin_tried_ = false;
        memory_ = HostMemory();  // frees the old memory first, because both may not fit
        DET_TRY_ASSIGN(memory_, HostMemory::allocate(size_bytes));
    }
    if (devices == nullptr || was_pin_tried_ || memory_.size_bytes() == 0) return Ok{};
    was_pin_tried_ = true;
    auto pinned = devices->pin({memory_.data(), memory_.size_bytes()});
    if (pinned)
        pinned_ = *std::move(pinned);
    else
        refusal_ = std::move(pinned).error();
    return Ok{};
}

}  // namespace det::checkpoint
