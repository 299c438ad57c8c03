#pragma once
#include <det/liveness/backoff.hpp>
#include <det/transport/ucx/ucx_transport.hpp>

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <ucp/api/ucp.h>
#include <vector>

#include "flush_thread.hpp"

namespace det::transport::ucx {

class ReceiveMessage;

/// "cannot <what>: " and UCX's own words.
Error ucx_error(std::string const& what, ucs_status_t status);

/// Peer and tag.
using MatchKey = std::pair<int, std::uint32_t>;

/// A UCX worker, and an endpoint for each rank that we have talked to. What all operations of a transport
/// share.
class Worker {
public:
    static Result<std::unique_ptr<Worker>> open(std::unique_ptr<Bootstrap> bootstrap, Options options);
    ~Worker();
    Worker(Worker const&) = delete;
    Worker& operator=(Worker const&) = delete;

    Rank rank() const { return rank_; }
    int size() const { return static_cast<int>(peers_.size()); }
    liveness::Cores cores() const { return cores_; }
    /// For the thread that calls: the settler has ended.
    ucp_worker_h handle() {
        flush_thread_.reset();
        return worker_;
    }

    bool is_open() const { return bootstrap_ != nullptr; }
    /// The others hear of it; nothing is waited for.
    void abandon() noexcept {
        bootstrap_.reset();
        monitor_.reset();
    }
    PeerWait begin_wait(Rank peer) const { return {waits_, monitor_.get(), rank_, peer}; }

    /// Made when it is first asked for.
    Result<ucp_ep_h> endpoint(Rank peer);
    /// An Error, once the monitor knows of one that was lost.
    Status check_ranks() const { return monitor_ ? monitor_->check() : Status(Ok{}); }
    /// An Error, once UCX has told us that this rank is out of reach.
    Status check_alive(Rank peer) const;
    /// Ends all that is under way to a peer, and what comes later: when a send has to be given up.
    void abandon_peer(Rank peer);

    /// Moves on everything that is under way. False: there was nothing to do.
    bool progress();
    /// Until it is over, or the time is: false.
    bool wait_for(ucs_status_ptr_t request, std::chrono::milliseconds timeout);

    /// What was sent arrives from here on without a call: by the settler, where a peer is not in UCX now.
    Status flush();
    /// Peers to whom something was sent that UCX may still have to move on here, though it counts as sent.
    std::set<Rank> unflushed;

    /// Receives that wait for their message, by match_key in the order in which they were asked for.
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

    Status start(std::string const& interfaces);
    Status publish_address();
    void close_with_peers();
    Result<std::vector<Flush>> begin_flushes(std::set<Rank> const& peers);
    Status flush_in_background(std::vector<Flush> flushes);
    static void on_error(void* peer, ucp_ep_h endpoint, ucs_status_t status);
    void close_endpoints(unsigned flags);
    bool has_all_ranks() const;
    Peer& at(Rank peer) { return peers_[static_cast<std::size_t>(peer.value)]; }
    Peer const& at(Rank peer) const { return peers_[static_cast<std::size_t>(peer.value)]; }

    Rank rank_;
    std::unique_ptr<Bootstrap> bootstrap_;  // none: we have left
    liveness::Cores cores_;
    std::unique_ptr<RankMonitor> monitor_;  // none: ranks are lost where UCX says so
    WaitPolicy waits_;
    std::vector<Peer> peers_;  // by rank; where it lies is known to UCX
    ucp_context_h context_ = nullptr;
    ucp_worker_h worker_ = nullptr;
    std::optional<FlushThread> flush_thread_;  // none: UCX is moved on by whoever calls
};

}  // namespace det::transport::ucx
