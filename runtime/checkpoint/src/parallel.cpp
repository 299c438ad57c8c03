#include "parallel.hpp"

#include <det/foundation/start_thread.hpp>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <vector>

#include "host_memory.hpp"

namespace det::checkpoint {

void run_on_threads(int threads, std::function<void()> const& body) {
    std::vector<std::jthread> others;
    for (int i = 1; i < threads; ++i)
        others.push_back(start_thread(thread_name, [&body](auto const&) { body(); }));
    body();
}

Status each_in_parallel(int threads, std::size_t count, WorkMemory const& memory,
                        std::function<Status(std::size_t, std::byte*)> const& work) {
    auto const size = (memory.size_bytes + page_bytes - 1) / page_bytes * page_bytes;
    auto const lent_count = size == 0 ? 0 : memory.lent.size() / size;
    std::atomic<std::size_t> next = 0, next_thread = 0;
    std::atomic<bool> failed = false;
    std::mutex mutex;
    std::optional<std::pair<std::size_t, Error>> first;  // index and error
    auto const fail = [&](std::size_t index, Error error) {
        failed = true;
        std::lock_guard const lock(mutex);
        if (!first || index < first->first) first.emplace(index, std::move(error));
    };
    run_on_threads(static_cast<int>(std::min<std::size_t>(static_cast<std::size_t>(threads), count)), [&] {
        auto const thread = next_thread++;
        bool const is_lent = thread < lent_count;
        auto own = is_lent ? Result(HostMemory()) : HostMemory::allocate(size);
        if (!own) return fail(count, std::move(own).error());
        auto* const thread_memory = is_lent ? memory.lent.data() + thread * size : own->data();
        while (!failed) {
            auto const index = next++;
            if (index >= count) return;
            if (auto done = work(index, thread_memory); !done) fail(index, std::move(done).error());
        }
    });
    if (first) return std::move(first->second);
    return Ok{};
}

}  // namespace det::checkpoint
