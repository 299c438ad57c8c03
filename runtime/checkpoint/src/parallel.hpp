#pragma once
#include <det/foundation/result.hpp>

#include <cstddef>
#include <functional>
#include <span>

namespace det::checkpoint {

/// The name of the threads of saves and loads.
inline constexpr char thread_name[] = "det-checkpoint";

/// Runs `body` on `threads` threads, one of which is the calling thread. Returns when all calls have
/// returned.
void run_on_threads(int threads, std::function<void()> const& body);

/// Memory for threads to work with.
struct WorkMemory {
    std::size_t size_bytes = 0;      // for each thread
    std::span<std::byte> lent = {};  // aligned to pages; threads for which it is too small allocate their own
};

/// Calls `work` for each index below `count`, on up to `threads` threads. Each thread passes its own memory,
/// in whole pages. After an error no further index is started.
/// \return the error of the lowest index that failed; if none did, the error of a thread that got no memory
Status each_in_parallel(int threads, std::size_t count, WorkMemory const& memory,
                        std::function<Status(std::size_t index, std::byte* memory)> const& work);

}  // namespace det::checkpoint
