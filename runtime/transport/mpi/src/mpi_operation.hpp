#pragma once
#include <det/transport/backoff.hpp>

#include <map>
#include <vector>

#include "mpi_session.hpp"

namespace det::transport {

// A message is pieces of exactly the limit, and a last piece that is shorter and may be empty. So a message
// below the limit is one piece, and a receiver knows the end of any message without being told its size.

class MpiReceive;

/// Peer and tag.
using Lane = std::pair<int, int>;
inline constexpr Lane no_lane{-1, -1};

/// What all operations of one transport share.
struct MpiState {
    /// Moves on what has been asked for: a peer may serve the one we wait for only after another.
    Status advance_receives_except(Lane lane);

    MpiSession session;
    Cores cores;
    std::size_t piece_limit_bytes;
    /// Those under way, in the order in which they were asked for.
    std::map<Lane, std::vector<MpiReceive*>> receives = {};
};

/// A message with its peer.
struct MpiRoute {
    int self;
    int peer;
    int tag;
};

class MpiSend final : public Operation {
public:
    MpiSend(std::shared_ptr<MpiState> state, MpiRoute route, Bytes bytes)
        : state_(std::move(state)), route_(route), bytes_(bytes) {}
    ~MpiSend() override;

    Status start();
    Result<bool> test() override;
    Result<std::size_t> wait() override;

private:
    Error cannot(int code) const;

    std::shared_ptr<MpiState> state_;
    MpiRoute route_;
    Bytes bytes_;
    std::vector<MPI_Request> pieces_;
    std::size_t pieces_done_ = 0;  // from the first on
};

/// Looks what there is before it takes it, by matched probes. A receive that is posted ahead would be a
/// little faster for tiny messages; but where one is longer than its buffer, Open MPI 4.1 writes beyond the
/// buffer's end (pml/ob1 fetching from shared memory goes by the sender's size) and reports the truncation
/// afterwards.
class MpiReceive final : public Operation {
public:
    MpiReceive(std::shared_ptr<MpiState> state, MpiRoute route, MutableBytes into)
        : state_(std::move(state)), route_(route), into_(into) {}
    ~MpiReceive() override;

    Status start();
    Result<bool> test() override;
    Result<std::size_t> wait() override;
    /// For the first of its lane: true when it is over and has left the lane.
    Result<bool> advance();

private:
    Lane lane() const { return {route_.peer, route_.tag}; }
    Error cannot(int code) const;
    Result<bool> find_piece();
    Result<bool> finish_piece();
    void leave_lane();

    std::shared_ptr<MpiState> state_;
    MpiRoute route_;
    MutableBytes into_;
    MPI_Request piece_ = MPI_REQUEST_NULL;
    std::size_t piece_size_ = 0;
    std::size_t size_ = 0;            // of the pieces so far
    std::vector<std::byte> dropped_;  // a piece for which the buffer has no room
    bool is_over_ = false;
};

}  // namespace det::transport
