#include "arena.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace det::collectives::node {
namespace {

constexpr std::size_t huge_page_bytes = std::size_t{2} << 20;
constexpr std::size_t page_bytes = 4096;

std::size_t round_up(std::size_t size, std::size_t to) { return (size + to - 1) / to * to; }

}  // namespace

Result<UniqueFd> Arena::create(int ranks) {
    // Each share is as large as the machine's memory, as long as all shares together stay below 16 TiB: a
    // process has 128 TiB of addresses and needs some of them for other purposes.
    constexpr std::size_t addresses_bytes = std::size_t{16} << 40;
    auto const memory_bytes = static_cast<std::size_t>(::sysconf(_SC_PHYS_PAGES)) * page_bytes;
    auto const count = static_cast<std::size_t>(ranks);
    auto const share = round_up(std::min(memory_bytes, addresses_bytes / count), huge_page_bytes);
    UniqueFd fd(::memfd_create("det-node-arena", MFD_CLOEXEC));
    if (!fd) return os_error("make shared memory", errno);
    if (::ftruncate(fd.get(), static_cast<off_t>(share * count)) != 0)
        return os_error("size shared memory", errno);
    return Result<UniqueFd>(std::move(fd));
}

Result<Arena> Arena::map(int fd, int ranks, int rank) {
    UniqueFd own(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
    struct stat info {};
    if (!own || ::fstat(fd, &info) != 0) return os_error("look at shared memory", errno);
    auto const size = static_cast<std::size_t>(info.st_size);
    void* const memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    if (memory == MAP_FAILED) return os_error("map shared memory", errno);
    auto const share = size / static_cast<std::size_t>(ranks);
    return Arena(std::move(own), static_cast<std::byte*>(memory), size,
                 share * static_cast<std::size_t>(rank), share);
}

Arena::Arena(UniqueFd fd, std::byte* memory, std::size_t size, std::size_t share_begin,
             std::size_t share_bytes)
    : fd_(std::move(fd)), memory_(memory), size_(size), share_begin_(share_begin), share_bytes_(share_bytes) {
    free_.emplace(share_begin, share_bytes);
}

Arena::Arena(Arena&& other) noexcept
    : fd_(std::move(other.fd_)),
      memory_(std::exchange(other.memory_, nullptr)),
      size_(other.size_),
      share_begin_(other.share_begin_),
      share_bytes_(other.share_bytes_),
      free_(std::move(other.free_)) {}

Arena::~Arena() {
    if (memory_ != nullptr) ::munmap(memory_, size_);
}

Result<std::span<std::byte>> Arena::allocate(std::size_t size_bytes) {
    // Large buffers begin on a huge-page boundary, so that the kernel can use huge pages.
    auto const alignment = size_bytes >= huge_page_bytes ? huge_page_bytes : page_bytes;
    for (auto const& [begin, size] : free_) {
        auto const aligned = round_up(begin, alignment);
        auto const wanted = round_up(size_bytes, page_bytes);
        if (size_bytes > size || aligned - begin > size - wanted) continue;
        auto const end = begin + size;
        auto const rest = aligned + wanted;
        auto const first = begin;
        free_.erase(first);
        if (aligned > first) free_.emplace(first, aligned - first);
        if (end > rest) free_.emplace(rest, end - rest);
        if (alignment == huge_page_bytes) ::madvise(memory_ + aligned, wanted, MADV_HUGEPAGE);
        return std::span(memory_ + aligned, size_bytes);
    }
    return Error{codes::misuse,
                 fmt::format("there is no shared memory for a buffer of {} bytes", size_bytes)};
}

void Arena::release(std::span<std::byte> memory) {
    auto begin = static_cast<std::size_t>(memory.data() - memory_);
    auto size = round_up(memory.size(), page_bytes);
    ::fallocate(fd_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(begin),
                static_cast<off_t>(size));
    auto const next = free_.lower_bound(begin);
    if (next != free_.begin()) {
        auto const before = std::prev(next);
        if (before->first + before->second == begin) {
            begin = before->first;
            size += before->second;
            free_.erase(before);
        }
    }
    if (next != free_.end() && begin + size == next->first) {
        size += next->second;
        free_.erase(next);
    }
    free_.emplace(begin, size);
}

std::optional<std::uint64_t> Arena::offset_of(std::span<std::byte const> memory) const {
    auto const* const share = memory_ + share_begin_;
    auto const distance =
        reinterpret_cast<std::uintptr_t>(memory.data()) - reinterpret_cast<std::uintptr_t>(share);
    if (distance >= share_bytes_ || memory.size() > share_bytes_ - distance) return std::nullopt;
    return share_begin_ + distance;
}

}  // namespace det::collectives::node
