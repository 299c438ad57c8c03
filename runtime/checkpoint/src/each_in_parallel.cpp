#include "each_in_parallel.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>

#include "workers.hpp"

namespace det::checkpoint {

Status each_in_parallel(int threads, std::size_t count, std::size_t memory_size_bytes,
                        std::function<Status(std::size_t, HostMemory const&)> const& work) {
    std::atomic<std::size_t> next = 0;
    std::atomic<bool> failed = false;
    std::mutex mutex;
    std::optional<std::pair<std::size_t, Error>> first;  // with its index
    auto const fail = [&](std::size_t index, Error error) {
        failed = true;
        std::lock_guard const lock(mutex);
        if (!first || index < first->first) first.emplace(index, std::move(error));
    };
    run_side_by_side(static_cast<int>(std::min<std::size_t>(static_cast<std::size_t>(threads), count)), [&] {
        auto memory = HostMemory::allocate(memory_size_bytes);
        if (!memory) return fail(0, std::move(memory).error());
        while (!failed) {
            auto const index = next++;
            if (index >= count) return;
            if (auto done = work(index, *memory); !done) fail(index, std::move(done).error());
        }
    });
    if (first) return std::move(first->second);
    return Ok{};
}

}  // namespace det::checkpoint
