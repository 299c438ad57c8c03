#include "workers.hpp"

#include <pthread.h>
#include <signal.h>

namespace det::checkpoint {
namespace {

/// Signals are for the threads of the program that asked for them.
class SignalsBlocked {
public:
    SignalsBlocked() {
        sigset_t all;
        sigfillset(&all);
        ::pthread_sigmask(SIG_SETMASK, &all, &before_);
    }
    ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    SignalsBlocked(SignalsBlocked const&) = delete;
    SignalsBlocked& operator=(SignalsBlocked const&) = delete;

private:
    sigset_t before_{};
};

}  // namespace

Workers::Workers(int count) {
    SignalsBlocked const blocked;  // threads inherit the mask
    for (int i = 0; i < count; ++i) {
        threads_.emplace_back([this](std::stop_token const& stop) { work(stop); });
        ::pthread_setname_np(threads_.back().native_handle(), "det-checkpoint");
    }
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
    {
        SignalsBlocked const blocked;
        for (int i = 1; i < threads; ++i) others.emplace_back(body);
    }
    body();
}

}  // namespace det::checkpoint
