#pragma once
#include <det/foundation/files.hpp>

#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <span>

namespace det::collectives::node {

/// Shared memory in which each rank allocates from its own share. All ranks map all of it, so an offset means
/// the same on all ranks. A mapping alone uses only addresses: the kernel provides a page when a process
/// touches it, and release() returns the pages to the kernel.
class Arena {
public:
    static Result<UniqueFd> create(int ranks);
    /// Maps the memory. Duplicates `fd`; the caller keeps its own.
    static Result<Arena> map(int fd, int ranks, int rank);
    Arena(Arena&& other) noexcept;
    Arena& operator=(Arena&&) = delete;
    ~Arena();

    /// Allocates zeroed memory, aligned to pages (large buffers to huge pages). Fails with codes::misuse if
    /// no free range of this rank's share is large enough.
    Result<std::span<std::byte>> allocate(std::size_t size_bytes);
    void release(std::span<std::byte> memory);

    /// The offset of the memory; nullopt unless all of it is in this rank's share.
    std::optional<std::uint64_t> offset_of(std::span<std::byte const> memory) const;
    std::byte* at(std::uint64_t offset) const { return memory_ + offset; }
    bool holds(std::uint64_t offset, std::size_t size_bytes) const {
        return size_bytes <= size_ && offset <= size_ - size_bytes;
    }

private:
    Arena(UniqueFd fd, std::byte* memory, std::size_t size, std::size_t share_begin, std::size_t share_bytes);

    UniqueFd fd_;
    std::byte* memory_ = nullptr;
    std::size_t size_ = 0;
    std::size_t share_begin_ = 0, share_bytes_ = 0;
    std::map<std::size_t, std::size_t> free_;  // free ranges: sizes by offset; adjacent ranges are merged
};

}  // namespace det::collectives::node
