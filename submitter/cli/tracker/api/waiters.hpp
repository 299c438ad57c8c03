#pragma once
#include <det/tracker/http/routes.hpp>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace det::tracker::api {

/// Deferred requests that wait for something to happen. One thread checks them all at intervals and when it
/// is woken; it sleeps while none waits. Thread-safe.
class Waiters {
public:
    /// Returns the response once there is one. Called by the thread of Waiters.
    using Check = std::function<std::optional<http::Response>()>;

    explicit Waiters(std::chrono::milliseconds interval);
    ~Waiters();
    Waiters(Waiters const&) = delete;
    Waiters& operator=(Waiters const&) = delete;
    /// Checks until there is a response, or the request is over.
    void add(http::Responder responder, Check check);
    /// Checks all waiting requests now.
    void wake();

private:
    struct Waiting {
        http::Responder responder;
        Check check;
    };
    void run(std::stop_token const& stop);

    std::chrono::milliseconds const interval_;
    std::mutex mutex_;
    std::condition_variable_any changed_;
    std::vector<Waiting> added_;
    bool is_woken_ = false;
    std::jthread thread_;
};

}  // namespace det::tracker::api
