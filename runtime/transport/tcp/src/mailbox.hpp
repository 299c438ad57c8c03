#pragma once
#include <det/transport/transport.hpp>

#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "message_stream.hpp"

namespace det::transport::tcp {

/// Matches arriving messages with posted receives, in order for each peer and tag.
class Mailbox {
public:
    /// \param size the number of ranks.
    /// \param unexpected_limit_bytes limit per peer for messages without a posted receive.
    Mailbox(Rank own, std::size_t size, std::size_t unexpected_limit_bytes)
        : own_(own), unexpected_limit_bytes_(unexpected_limit_bytes), peers_(size) {}

    /// Returns the posted receive for an arriving message, or a new one that buffers it. Returns nullptr if
    /// the buffered messages of the peer would exceed the limit.
    std::shared_ptr<RecvRequest> match(Rank from, MessageHead const& head);
    /// Posts a receive. Its message may have arrived already.
    std::shared_ptr<RecvRequest> post_receive(Rank from, Tag tag, MutableBytes into);
    void send_to_self(Tag tag, Bytes bytes);
    /// Cancels a receive. Data that still arrives for it is discarded, and the buffer is no longer used.
    void cancel(Rank from, Tag tag, std::shared_ptr<RecvRequest> const& request);

private:
    struct MatchQueue {
        std::deque<std::shared_ptr<RecvRequest>> posted;
        std::deque<std::shared_ptr<RecvRequest>> unexpected;
    };
    using MatchKey = std::pair<int, std::uint32_t>;  // peer and tag
    struct Peer {
        std::uint64_t unexpected_bytes = 0;  // of its messages without a posted receive
        int posted = 0;                      // number of posted receives without a message
    };

    bool may_buffer(Rank from, std::uint64_t size_bytes) const;
    Peer& at(Rank peer) { return peers_[static_cast<std::size_t>(peer.value)]; }
    Peer const& at(Rank peer) const { return peers_[static_cast<std::size_t>(peer.value)]; }

    Rank own_;
    std::size_t unexpected_limit_bytes_;
    std::vector<Peer> peers_;  // by rank
    std::map<MatchKey, MatchQueue> queues_;
};

}  // namespace det::transport::tcp
