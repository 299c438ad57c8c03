#pragma once
#include <condition_variable>
#include <mutex>
#include <thread>
#include <ucp/api/ucp.h>
#include <utility>
#include <vector>

namespace det::transport::ucx {

/// A flush that UCX has begun: it is over when all that was sent before it has arrived.
class Flush {
public:
    explicit Flush(ucs_status_ptr_t request) : request_(request) {}
    Flush(Flush&& other) noexcept : request_(std::exchange(other.request_, nullptr)) {}
    Flush& operator=(Flush&& other) noexcept {
        std::swap(request_, other.request_);
        return *this;
    }
    ~Flush() {
        if (UCS_PTR_IS_PTR(request_)) ucp_request_free(request_);  // no memory of ours is a part of it
    }

    /// UCS_INPROGRESS until it is over.
    ucs_status_t status() const {
        return UCS_PTR_IS_PTR(request_) ? ucp_request_check_status(request_) : UCS_PTR_STATUS(request_);
    }

private:
    ucs_status_ptr_t request_;
};

bool are_over(std::vector<Flush> const& flushes);

/// Moves UCX on in a thread of its own until flushes are over, for an owner who has turned to something else.
/// While it lives nobody else may use the worker; it ends without delay.
class FlushThread {
public:
    FlushThread(ucp_worker_h worker, std::vector<Flush> flushes);

private:
    void run(std::stop_token const& told_to_end);

    ucp_worker_h worker_;
    std::vector<Flush> flushes_;
    std::mutex mutex_;
    std::condition_variable_any ending_;
    std::jthread thread_;
};

}  // namespace det::transport::ucx
