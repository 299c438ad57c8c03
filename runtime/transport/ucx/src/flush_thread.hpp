#pragma once
#include <condition_variable>
#include <mutex>
#include <thread>
#include <ucp/api/ucp.h>
#include <utility>
#include <vector>

namespace det::transport::ucx {

/// A flush of an endpoint that UCX has started. It is over when all messages sent before it have arrived.
class Flush {
public:
    explicit Flush(ucs_status_ptr_t request) : request_(request) {}
    Flush(Flush&& other) noexcept : request_(std::exchange(other.request_, nullptr)) {}
    Flush& operator=(Flush&& other) noexcept {
        std::swap(request_, other.request_);
        return *this;
    }
    ~Flush() {
        if (UCS_PTR_IS_PTR(request_)) ucp_request_free(request_);  // a flush uses no buffer of the caller
    }

    /// Returns UCS_INPROGRESS until the flush is over.
    ucs_status_t status() const {
        return UCS_PTR_IS_PTR(request_) ? ucp_request_check_status(request_) : UCS_PTR_STATUS(request_);
    }

private:
    ucs_status_ptr_t request_;
};

bool are_over(std::vector<Flush> const& flushes);

/// A thread that progresses UCX until all flushes are over, while the rank computes. No other thread may use
/// the worker while this object exists. The destructor stops the thread without waiting for the flushes.
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
