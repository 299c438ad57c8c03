#pragma once
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace det::tracker::http {

/// Threads that begin tasks in order. stop() and the destructor drop the tasks that have not begun.
class ThreadPool {
public:
    explicit ThreadPool(unsigned count);
    ~ThreadPool() { stop(); }
    /// Thread-safe.
    void run(std::function<void()> task);
    /// Waits for the tasks that run and ends the threads.
    void stop();

private:
    void work(std::stop_token const& stop);

    std::mutex mutex_;
    std::condition_variable_any changed_;
    std::deque<std::function<void()>> tasks_;
    std::vector<std::jthread> threads_;
};

}  // namespace det::tracker::http
