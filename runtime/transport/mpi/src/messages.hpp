#pragma once
#include <det/liveness/backoff.hpp>

#include <map>
#include <vector>

#include "communicator.hpp"
#include "module_table.hpp"

namespace det::transport::mpi {

// A message consists of pieces of exactly piece_limit_bytes and a last piece that is shorter and may be
// empty. So a message below the limit is one piece, and the receiver recognises the last piece by its size.

class ReceiveMessage;

/// Peer and tag: messages with the same key arrive in order.
using MatchKey = std::pair<int, int>;
inline constexpr MatchKey no_match_key{-1, -1};

/// State that all operations of one transport share.
struct SharedState {
    /// Advances the receives of all keys except `match_key`: a peer may send the awaited message only after
    /// this rank has received another one.
    Status advance_receives_except(MatchKey match_key);

    Communicator communicator;
    liveness::Cores cores;
    std::size_t piece_limit_bytes;
    /// The posted receives of each key, in the order in which they were posted.
    std::map<MatchKey, std::vector<ReceiveMessage*>> receives = {};
};

/// The ranks and the tag of a message.
struct Route {
    int self;
    int peer;
    int tag;
};

class SendMessage final : public Operation {
public:
    SendMessage(std::shared_ptr<SharedState> state, Route route, Bytes bytes)
        : state_(std::move(state)), route_(route), bytes_(bytes) {}
    ~SendMessage() override;

    Status start();
    Result<bool> test() override;
    Result<std::size_t> wait() override;

private:
    Error cannot(int code) const;

    std::shared_ptr<SharedState> state_;
    Route route_;
    Bytes bytes_;
    std::vector<MPI_Request> pieces_;
    std::size_t pieces_done_ = 0;  // number of sent pieces before the first unsent one
};

/// Receives by matched probes. A posted MPI_Irecv would be a little faster for tiny messages; but if the
/// message is longer than the buffer, Open MPI 4.1 writes beyond the end of the buffer (pml/ob1 over shared
/// memory uses the sender's size) and reports the truncation afterwards.
class ReceiveMessage final : public Operation {
public:
    ReceiveMessage(std::shared_ptr<SharedState> state, Route route, MutableBytes into)
        : state_(std::move(state)), route_(route), into_(into) {}
    ~ReceiveMessage() override;

    Status start();
    Result<bool> test() override;
    Result<std::size_t> wait() override;
    /// Must be called only on the first receive of a key. Does not block.
    /// \return true if the receive is complete; it has then left the queue.
    Result<bool> advance();

private:
    MatchKey match_key() const { return {route_.peer, route_.tag}; }
    Error cannot(int code) const;
    Result<bool> try_start_piece();
    Result<bool> finish_piece();
    void leave_queue();

    std::shared_ptr<SharedState> state_;
    Route route_;
    MutableBytes into_;
    MPI_Request piece_ = MPI_REQUEST_NULL;
    std::size_t piece_size_ = 0;
    std::size_t size_ = 0;            // the bytes of the pieces received so far
    std::vector<std::byte> dropped_;  // a piece that does not fit into the buffer
    bool is_complete_ = false;
};

/// Implements open_collectives.
Result<std::unique_ptr<Collectives>> make_collectives();

}  // namespace det::transport::mpi
