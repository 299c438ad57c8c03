#pragma once
#include <det/foundation/result.hpp>

#include <functional>

#include "host_memory.hpp"

namespace det::checkpoint {

/// Calls `work` for each index below `count`, on so many threads, each of which has memory of its own to work
/// with. After an error no further index is begun; the one of the lowest index is returned.
Status each_in_parallel(int threads, std::size_t count, std::size_t memory_size_bytes,
                        std::function<Status(std::size_t index, HostMemory const& memory)> const& work);

}  // namespace det::checkpoint
