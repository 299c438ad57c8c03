#pragma once
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace det::checkpoint {

/// Threads that do what they are handed, in order. Destroying it waits for what has begun and drops the rest.
class Workers {
public:
    explicit Workers(int count);
    Workers(Workers const&) = delete;
    Workers& operator=(Workers const&) = delete;
    ~Workers();

    void hand(std::function<void()> task);
    int count() const { return static_cast<int>(threads_.size()); }

private:
    void work(std::stop_token const& stop);

    std::mutex mutex_;
    std::condition_variable_any news_;
    std::deque<std::function<void()>> tasks_;
    std::vector<std::jthread> threads_;  // last: they use the others
};

/// Runs `body` on so many threads, this one among them, and returns when all have.
void run_side_by_side(int threads, std::function<void()> const& body);

}  // namespace det::checkpoint
