#pragma once
#include <det/foundation/result.hpp>

#include <cstddef>
#include <functional>
#include <span>

namespace det::checkpoint {

/// What each thread has to work with.
struct WorkMemory {
    std::size_t size_bytes = 0;      // of each
    std::span<std::byte> lent = {};  // begins at a page; threads for which it has no room get new memory
};

/// Calls `work` for each index below `count`, on so many threads, each of which has memory of its own to work
/// with: whole pages. After an error no further index is begun; the one of the lowest index is returned.
Status each_in_parallel(int threads, std::size_t count, WorkMemory const& memory,
                        std::function<Status(std::size_t index, std::byte* memory)> const& work);

}  // namespace det::checkpoint
