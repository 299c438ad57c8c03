#pragma once
#include <det/liveness/backoff.hpp>
#include <det/transport/ucx/ucx_transport.hpp>

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <ucp/api/ucp.h>
#include <utility>
#include <vector>

namespace det::transport::ucx {

class ReceiveMessage;

/// Makes the Error "cannot <what>: " with UCX's text for the status.
Error ucx_error(std::string const& what, ucs_status_t status);

/// Peer and tag.
using MatchKey = std::pair<int, std::uint32_t>;

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

/// A thread that progresses UCX until all flushes are over, while the rank computes. No other thread may use
/// the worker while this object exists. The destructor stops the thread without waiting for the flushes.
class FlushThread {
public:
    FlushThread(ucp_worker_h worker, std::vector<Flush> flushes);

    /// Stops the thread.
    /// \return whether all flushes are over
    bool stop();

private:
    void run(std::stop_token const& stop);

    ucp_worker_h worker_;
    std::vector<Flush> flushes_;
    std::mutex mutex_;
    std::condition_variable_any stopping_;
    std::jthread thread_;
};

/// A UCX worker, and an endpoint for each peer that this rank has used. All operations of a transport share
/// it.
class Worker {
public:
    static Result<std::unique_ptr<Worker>> open(std::unique_ptr<Bootstrap> bootstrap, Options options);
    ~Worker();
    Worker(Worker const&) = delete;
    Worker& operator=(Worker const&) = delete;

    Rank rank() const { return rank_; }
    int size() const { return static_cast<int>(peers_.size()); }
    liveness::Cores cores() const { return cores_; }
    /// Returns the worker for use by the calling thread. Stops the flush thread first.
    ucp_worker_h handle() {
        if (flush_thread_) stop_flush_thread();
        return worker_;
    }

    bool is_open() const { return bootstrap_ != nullptr; }
    /// Closes the bootstrap and the monitor, so that the destructor does not wait for the other ranks.
    void abandon() noexcept {
        bootstrap_.reset();
        if (monitor_) monitor_->abandon();
        monitor_.reset();
    }
    PeerWait begin_wait(Rank peer) const { return {waits_, monitor_.get(), rank_, peer}; }

    /// Returns the endpoint of a peer; the first call for a peer creates it.
    Result<ucp_ep_h> endpoint(Rank peer);
    /// Fails if the monitor has reported a lost rank.
    Status check_ranks() const { return monitor_ ? monitor_->check() : Status(Ok{}); }
    /// Fails if UCX has reported that the peer is lost, or after abandon_peer(). Before it fails, it waits up
    /// to half a second for the monitor to name the cause.
    Status check_alive(Rank peer) const;
    /// Closes the endpoint of a peer by force, because a send to it can't be cancelled. All current and later
    /// operations with this peer fail.
    void abandon_peer(Rank peer);

    /// Progresses UCX. Returns false if there was nothing to do.
    bool progress();
    /// Blocks until the request is complete or the timeout has passed, and frees it. Returns false at the
    /// timeout or if the request failed at once. Returns true also for a request that failed later.
    bool wait_for(ucs_status_ptr_t request, std::chrono::milliseconds timeout);

    /// After this call all finished sends arrive without further calls. A peer that is not in a call of UCX
    /// does not answer the flush: after 1 ms a thread completes it. This rank's next call of UCX ends the
    /// thread.
    Status flush();
    /// Peers with sends since the last flush(). UCX may have reported such a send as complete while its data
    /// is still in a buffer of this process.
    std::set<Rank> unflushed;

    /// The receives that have not found their message yet, for each key in the order in which they were
    /// posted.
    std::map<MatchKey, std::deque<ReceiveMessage*>> receives;

private:
    struct Peer {
        ucp_ep_h endpoint = nullptr;
        std::optional<ucs_status_t> lost;
    };

    Worker(std::unique_ptr<Bootstrap> bootstrap, Options options)
        : rank_(bootstrap->rank()),
          bootstrap_(std::move(bootstrap)),
          cores_(liveness::cores_for(options.local_ranks)),
          monitor_(std::move(options.monitor)),
          waits_(std::move(options.waits)),
          peers_(static_cast<std::size_t>(bootstrap_->size())) {}

    Status start(std::string const& interfaces, std::string const& transports);
    Status publish_address();
    void close_with_peers();
    Result<std::vector<Flush>> begin_flushes(std::set<Rank> const& peers);
    Status flush_in_background(std::vector<Flush> flushes, std::set<Rank> peers);
    void stop_flush_thread();
    static void on_error(void* peer, ucp_ep_h endpoint, ucs_status_t status);
    void close_endpoints(unsigned flags);
    bool has_all_ranks() const;
    Peer& at(Rank peer) { return peers_[static_cast<std::size_t>(peer.value)]; }
    Peer const& at(Rank peer) const { return peers_[static_cast<std::size_t>(peer.value)]; }

    Rank rank_;
    std::unique_ptr<Bootstrap> bootstrap_;  // nullptr after abandon()
    liveness::Cores cores_;
    std::unique_ptr<RankMonitor> monitor_;  // nullptr: only UCX detects lost ranks
    WaitPolicy waits_;
    std::vector<Peer> peers_;  // by rank; never resized, because UCX keeps pointers to the elements
    ucp_context_h context_ = nullptr;
    ucp_worker_h worker_ = nullptr;
    std::optional<FlushThread> flush_thread_;  // nullopt: the callers' threads progress UCX
    std::set<Rank> flushing_;                  // the peers of the last flush thread
};

}  // namespace det::transport::ucx
