#include "each_in_parallel.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>

#include "host_memory.hpp"
#include "workers.hpp"

namespace det::checkpoint {
namespace {

constexpr std::size_t page_bytes = 4096;

}  // namespace

Status each_in_parallel(int threads, std::size_t count, WorkMemory const& memory,
                        std::function<Status(std::size_t, std::byte*)> const& work) {
    auto const size = (memory.size_bytes + page_bytes - 1) / page_bytes * page_bytes;
    auto const lent_count = size == 0 ? 0 : memory.lent.size() / size;
    std::atomic<std::size_t> next = 0, next_thread = 0;
    std::atomic<bool> failed = false;
    std::mutex mutex;
    std::optional<std::pair<std::size_t, Error>> first;  // with its index
    auto const fail = [&](std::size_t index, Error error) {
        failed = true;
        std::lock_guard const lock(mutex);
        if (!first || index < first->first) first.emplace(index, std::move(error));
    };
    run_side_by_side(static_cast<int>(std::min<std::size_t>(static_cast<std::size_t>(threads), count)), [&] {
        auto const thread = next_thread++;
        bool const is_lent = thread < lent_count;
        auto own = is_lent ? Result(HostMemory()) : HostMemory::allocate(size);
        if (!own) return fail(0, std::move(own).error());
        auto* const place = is_lent ? memory.lent.data() + thread * size : own->data();
        while (!failed) {
            auto const index = next++;
            if (index >= count) return;
            if (auto done = work(index, place); !done) fail(index, std::move(done).error());
        }
    });
    if (first) return std::move(first->second);
    return Ok{};
}

}  // namespace det::checkpoint
