#pragma once
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace det {

/// Threads that start tasks in the order of submission. Tasks must not throw.
class ThreadPool {
public:
    /// \param thread_name at most 15 characters
    ThreadPool(char const* thread_name, int count);
    ~ThreadPool() { stop(); }
    ThreadPool(ThreadPool const&) = delete;
    ThreadPool& operator=(ThreadPool const&) = delete;

    /// Thread-safe.
    void submit(std::function<void()> task);
    /// Waits for the tasks that run, ends the threads, and drops the tasks that have not started.
    void stop();
    int count() const { return count_; }

private:
    void work(std::stop_token const& stop);

    int const count_;
    std::mutex mutex_;
    std::condition_variable_any changed_;
    std::deque<std::function<void()>> tasks_;
    std::vector<std::jthread> threads_;
};

}  // namespace det
