#pragma once
#include <det/transport/backoff.hpp>
#include <det/transport/ucx.hpp>

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <ucp/api/ucp.h>
#include <vector>

#include "ucx_settler.hpp"

namespace det::transport {

class UcxReceive;

/// "cannot <what>: " and UCX's own words.
Error ucx_error(std::string const& what, ucs_status_t status);

/// Peer and tag.
using UcxLane = std::pair<int, std::uint32_t>;

/// A UCX worker, and an endpoint for each rank that we have talked to. What all operations of a transport
/// share.
class UcxSession {
public:
    static Result<std::unique_ptr<UcxSession>> open(std::unique_ptr<Bootstrap> bootstrap, UcxOptions options);
    ~UcxSession();
    UcxSession(UcxSession const&) = delete;
    UcxSession& operator=(UcxSession const&) = delete;

    Rank rank() const { return rank_; }
    int size() const { return static_cast<int>(peers_.size()); }
    Cores cores() const { return cores_; }
    /// For the thread that calls: the settler has ended.
    ucp_worker_h worker() {
        settler_.reset();
        return worker_;
    }

    bool is_open() const { return bootstrap_ != nullptr; }
    /// The others hear of it; nothing is waited for.
    void abandon() noexcept {
        bootstrap_.reset();
        watch_.reset();
    }
    Patience begin_wait(Rank peer) const { return {waits_, watch_.get(), rank_, peer}; }

    /// Made when it is first asked for.
    Result<ucp_ep_h> endpoint(Rank peer);
    /// An Error, once the watch knows of one that was lost.
    Status check_ranks() const { return watch_ ? watch_->check() : Status(Ok{}); }
    /// An Error, once UCX has told us that this rank is out of reach.
    Status check_alive(Rank peer) const;
    /// Ends all that is under way to a peer, and what comes later: when a send has to be given up.
    void cut_off(Rank peer);

    /// Moves on everything that is under way. False: there was nothing to do.
    bool progress();
    /// Until it is over, or the time is: false.
    bool wait_for(ucs_status_ptr_t request, std::chrono::milliseconds timeout);

    /// What was sent arrives from here on without a call: by the settler, where a peer is not in UCX now.
    Status settle();
    /// Peers to whom something was sent that UCX may still have to move on here, though it counts as sent.
    std::set<Rank> unsettled;

    /// Receives that wait for their message, by lane in the order in which they were asked for.
    std::map<UcxLane, std::deque<UcxReceive*>> receives;

private:
    struct Peer {
        ucp_ep_h endpoint = nullptr;
        std::optional<ucs_status_t> lost;
    };

    UcxSession(std::unique_ptr<Bootstrap> bootstrap, UcxOptions options)
        : rank_(bootstrap->rank()),
          bootstrap_(std::move(bootstrap)),
          cores_(cores_for(options.local_ranks)),
          watch_(std::move(options.watch)),
          waits_(std::move(options.waits)),
          peers_(static_cast<std::size_t>(bootstrap_->size())) {}

    Status start(std::string const& interfaces);
    Status say_where_we_are();
    void leave_in_common();
    Result<std::vector<UcxFlush>> begin_flushes(std::set<Rank> const& peers);
    Status settle_aside(std::vector<UcxFlush> flushes);
    static void on_error(void* peer, ucp_ep_h endpoint, ucs_status_t status);
    void close_endpoints(unsigned flags);
    bool is_whole() const;
    Peer& at(Rank peer) { return peers_[static_cast<std::size_t>(peer.value)]; }
    Peer const& at(Rank peer) const { return peers_[static_cast<std::size_t>(peer.value)]; }

    Rank rank_;
    std::unique_ptr<Bootstrap> bootstrap_;  // none: we have left
    Cores cores_;
    std::unique_ptr<Watch> watch_;  // none: ranks are lost where UCX says so
    WaitRules waits_;
    std::vector<Peer> peers_;  // by rank; where it lies is known to UCX
    ucp_context_h context_ = nullptr;
    ucp_worker_h worker_ = nullptr;
    std::optional<UcxSettler> settler_;  // none: UCX is moved on by whoever calls
};

}  // namespace det::transport
