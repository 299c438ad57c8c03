#include <det/foundation/start_thread.hpp>
#include <det/foundation/thread_pool.hpp>

namespace det {

ThreadPool::ThreadPool(char const* thread_name, int count) : count_(count) {
    for (int i = 0; i < count; ++i)
        threads_.push_back(start_thread(thread_name, [this](auto const& stop) { work(stop); }));
}

void ThreadPool::submit(std::function<void()> task) {
    {
        std::lock_guard const lock(mutex_);
        tasks_.push_back(std::move(task));
    }
    changed_.notify_one();
}

void ThreadPool::work(std::stop_token const& stop) {
    for (;;) {
        std::function<void()> task;
        {
            std::unique_lock lock(mutex_);
            if (!changed_.wait(lock, stop, [this] { return !tasks_.empty(); }) || stop.stop_requested())
                return;
            task = std::move(tasks_.front());
            tasks_.pop_front();
        }
        task();
    }
}

void ThreadPool::stop() {
    for (auto& thread : threads_) thread.request_stop();
    threads_.clear();
    std::deque<std::function<void()>> dropped;
    std::lock_guard const lock(mutex_);
    dropped.swap(tasks_);
}

}  // namespace det
