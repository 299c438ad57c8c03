#pragma once
#include <det/foundation/files.hpp>

#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <span>

namespace det::collectives::node {

/// Shared memory in which each rank allocates from its own share. All ranks map all of it, so an offset means
/// the same on all ranks. Mapping uses addresses only: the kernel provides pages when they are touched, and
/// takes them back when they are released.
class Arena {
public:
    static Result<UniqueFd> create(int ranks);
    /// Does not take over `fd`.
    static Result<Arena> map(int fd, int ranks, int rank);
    Arena(Arena&& other) noexcept;
    Arena& operator=(Arena&&) = delete;
    ~Arena();

    /// Memory of zeros, aligned to pages.
    Result<std::span<std::byte>> allocate(std::size_t size_bytes);
    void release(std::span<std::byte> memory);

    /// The offset of the memory, if all of it lies in this rank's share.
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
    std::map<std::size_t, std::size_t> free_;  // sizes by offset; neighbours are merged
};

}  // namespace det::collectives::node
