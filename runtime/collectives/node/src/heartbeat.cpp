#include "heartbeat.hpp"

#include <pthread.h>
#include <signal.h>

namespace det::node_collectives {
namespace {

/// No signal of the program is ever handled on a thread that it does not know of.
class AllSignalsBlocked {
public:
    AllSignalsBlocked() {
        sigset_t all;
        ::sigfillset(&all);
        ::pthread_sigmask(SIG_SETMASK, &all, &before_);
    }
    ~AllSignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    AllSignalsBlocked(AllSignalsBlocked const&) = delete;
    AllSignalsBlocked& operator=(AllSignalsBlocked const&) = delete;

private:
    sigset_t before_;
};

}  // namespace

Heartbeat::Heartbeat(std::atomic<std::uint64_t>& count, std::chrono::milliseconds interval) {
    AllSignalsBlocked const blocked;  // a thread begins with the mask of its maker
    thread_ = std::thread([this, &count, interval] { beat(count, interval); });
    ::pthread_setname_np(thread_.native_handle(), "det-heartbeat");
}

Heartbeat::~Heartbeat() {
    {
        std::lock_guard const lock(mutex_);
        is_ending_ = true;
    }
    ending_.notify_one();
    thread_.join();
}

void Heartbeat::beat(std::atomic<std::uint64_t>& count, std::chrono::milliseconds interval) {
    std::unique_lock lock(mutex_);
    while (!ending_.wait_for(lock, interval, [this] { return is_ending_; })) {
        count.fetch_add(1, std::memory_order_relaxed);
    }
}

}  // namespace det::node_collectives
