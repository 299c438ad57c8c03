#include "workers.hpp"

#include <det/foundation/thread.hpp>

namespace det::checkpoint {
namespace {

constexpr char thread_name[] = "det-checkpoint";

}  // namespace

Workers::Workers(int count) {
    for (int i = 0; i < count; ++i)
        threads_.push_back(start_thread(thread_name, [this](auto const& stop) { work(stop); }));
}

Workers::~Workers() {
    for (auto& thread : threads_) thread.request_stop();
}

void Workers::hand(std::function<void()> task) {
    {
        std::lock_guard const lock(mutex_);
        tasks_.push_back(std::move(task));
    }
    news_.notify_one();
}

void Workers::work(std::stop_token const& stop) {
    for (;;) {
        std::function<void()> task;
        {
            std::unique_lock lock(mutex_);
            if (!news_.wait(lock, stop, [this] { return !tasks_.empty(); }) || stop.stop_requested()) return;
            task = std::move(tasks_.front());
            tasks_.pop_front();
        }
        task();
    }
}

void run_side_by_side(int threads, std::function<void()> const& body) {
    std::vector<std::jthread> others;
    for (int i = 1; i < threads; ++i)
        others.push_back(start_thread(thread_name, [&body](auto const&) { body(); }));
    body();
}

}  // namespace det::checkpoint
