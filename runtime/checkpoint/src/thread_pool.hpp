#pragma once
#include <det/foundation/result.hpp>

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

namespace det::checkpoint {

/// Threads that do what they are handed, in order. Destroying it waits for what has begun and drops the rest.
class ThreadPool {
public:
    explicit ThreadPool(int count);
    ThreadPool(ThreadPool const&) = delete;
    ThreadPool& operator=(ThreadPool const&) = delete;
    ~ThreadPool();

    void submit(std::function<void()> task);
    int count() const { return static_cast<int>(threads_.size()); }

private:
    void work(std::stop_token const& stop);

    std::mutex mutex_;
    std::condition_variable_any news_;
    std::deque<std::function<void()>> tasks_;
    std::vector<std::jthread> threads_;  // last: they use the others
};

/// Runs `body` on so many threads, this one among them, and returns when all have.
void run_on_threads(int threads, std::function<void()> const& body);

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
