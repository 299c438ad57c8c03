#pragma once
#include <det/tracker/http/routes.hpp>

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace det::tracker::api {

/// The thread that answers the requests that ask Slurm or a storage of checkpoints, one after the other.
/// Their answers can take many seconds; the threads of the server stay free for all other requests.
/// Thread-safe.
class ServiceThread {
public:
    static constexpr std::size_t waiting_max = 32;

    using Work = std::function<http::Response()>;
    /// What happens to work whose client has gone before it begins.
    enum class IfClientGoes { skip, run };

    ServiceThread();
    /// Drops work that has not begun, and waits for work that has.
    ~ServiceThread();
    ServiceThread(ServiceThread const&) = delete;
    ServiceThread& operator=(ServiceThread const&) = delete;

    /// Responds with the result of `work`, which the service thread calls. If too many requests wait,
    /// responds with an error 503 at once and does not call it.
    void add(http::Responder responder, Work work, IfClientGoes if_client_goes = IfClientGoes::skip);

private:
    struct Task {
        http::Responder responder;
        Work work;
        IfClientGoes if_client_goes;
    };
    void run(std::stop_token const& stop);

    std::mutex mutex_;
    std::condition_variable_any changed_;
    std::deque<Task> tasks_;
    std::jthread thread_;
};

}  // namespace det::tracker::api
