#pragma once
#include <det/collectives/allocated_buffer.hpp>
#include <det/collectives/call.hpp>
#include <det/collectives/control_channel.hpp>
#include <det/collectives/handle.hpp>
#include <det/collectives/tuning.hpp>
#include <det/tensor/device_copies.hpp>
#include <det/transport/transport.hpp>

#include <optional>
#include <vector>

namespace det::collectives {

/// The arguments of an operation on elements. `in` and `out` are the same memory or do not overlap. A
/// broadcast uses only `out`. In allgather and reduce_scatter, the smaller buffer may be the caller's part of
/// the larger one.
struct TensorCall {
    Kind kind = Kind::allreduce;
    ConstTensor in;
    Tensor out;
    ReduceOp op = ReduceOp::sum;
    Rank root = {};
};

/// The call record that ranks compare and that messages describe, without a sequence number.
inline Call call_of(TensorCall const& call) {
    bool const reduces =
        call.kind == Kind::allreduce || call.kind == Kind::reduce || call.kind == Kind::reduce_scatter;
    bool const is_broadcast = call.kind == Kind::broadcast;
    return {.count = is_broadcast ? call.out.count : call.in.count,
            .root = call.root.value,
            .kind = call.kind,
            .type = is_broadcast ? call.out.type : call.in.type,
            .op = reduces ? call.op : ReduceOp::sum};
}

/// Checks the arguments of rank `self` for a call as far as it can without communication. Fails with
/// codes::misuse.
Status check(TensorCall const& call, Rank self, int ranks);
Status check_root(Rank root, std::string_view action, int ranks);

/// The rank numbers and the call that a group uses to compare calls and in messages. If the group's
/// operations are steps of an operation of a larger group, both are those of the larger group.
struct ErrorScope {
    std::vector<Rank> global_ranks;      // rank numbers in the larger group; empty: the group's own numbers
    std::optional<Call> enclosing_call;  // the call of the larger group; nullopt: the group's own call

    Rank global_rank(Rank rank) const {
        return global_ranks.empty() ? rank : global_ranks[static_cast<std::size_t>(rank.value)];
    }
    Call reported_call(Call const& call) const { return enclosing_call.value_or(call); }
    /// Puts "rank <n>: " before the message of the Error with which `rank` refuses an operation. Changes
    /// nothing if the operation is a step of a larger one, because the larger group has done this.
    Error with_rank(Error error, Rank rank) const;
};

/// A connected group of ranks, which DistributedContext uses. The ranks communicate by messages, by shared
/// memory, in two levels (both), or by devices; a single rank is a group too. DistributedContext checks the
/// arguments first. If they are wrong on this rank, it passes the Error as `refused`: the group sends it to
/// all ranks, and all return the same Error.
class RankGroup {
public:
    virtual ~RankGroup() = default;
    RankGroup(RankGroup const&) = delete;
    RankGroup& operator=(RankGroup const&) = delete;

    Rank rank() const { return rank_; }
    int size() const { return size_; }

    void set_global_ranks(std::vector<Rank> global_ranks) {
        error_scope_.global_ranks = std::move(global_ranks);
    }
    /// The rank numbers in the larger group; empty: the group's own numbers.
    std::vector<Rank> const& global_ranks() const { return error_scope_.global_ranks; }
    /// Sets the enclosing call for the following operations; nullopt: none.
    void set_scope(std::optional<Call> const& call) { error_scope_.enclosing_call = call; }

    virtual Status barrier() = 0;
    virtual Result<std::vector<std::string>> gather(std::string value, Status const& refused) = 0;
    virtual Result<std::vector<std::string>> allgather(std::string value, Status const& refused) = 0;
    virtual Result<std::string> broadcast(std::string value, Rank from, Status const& refused) = 0;

    virtual Status run(TensorCall const& call, Status const& refused) = 0;
    /// By default the operation is complete when start() returns.
    virtual Handle start(TensorCall const& call, Status const& refused) { return Handle(run(call, refused)); }

    /// The algorithm for such a call, for messages: "MPI, ring". Empty if unknown.
    virtual std::string algorithm_name(TensorCall const&) const { return {}; }

    virtual Result<Buffer> allocate(std::size_t size_bytes);
    virtual void abandon() noexcept = 0;

    virtual ControlChannel control_channel() { return {}; }
    /// Fails if a lost rank is known, or can be detected without communication. By default never fails.
    virtual Status check_ranks() { return Ok{}; }

    /// Sets the stream for all later operations on device memory.
    virtual Status use_stream(void* stream);
    /// nullptr if the group has no devices.
    virtual tensor::DeviceCopies* device_copies() { return nullptr; }

    /// Makes the group of the ranks that have this rank's local rank, one of each node that has one, in the
    /// order of the nodes. Its operations are ordered with those of this group. Does not communicate. Fails
    /// with codes::misuse if this group is not made of nodes.
    virtual Result<std::unique_ptr<RankGroup>> make_cross_group();
    /// Makes `part`, some of these ranks, accept the memory that this group accepts.
    virtual std::unique_ptr<RankGroup> with_own_devices(std::unique_ptr<RankGroup> part) { return part; }

protected:
    RankGroup(Rank rank, int size) : rank_(rank), size_(size) {}

    ErrorScope const& error_scope() const { return error_scope_; }

private:
    Rank rank_;
    int size_;
    ErrorScope error_scope_;
};

/// A group whose ranks communicate by messages. Does not communicate. Fails with codes::misuse for a
/// Tuning::segment_bytes of 0.
Result<std::unique_ptr<RankGroup>> make_transport_group(std::unique_ptr<transport::Transport> transport,
                                                        Tuning const& tuning = {});

/// A group with one rank, for example the only rank of a node.
std::unique_ptr<RankGroup> make_single_rank();

/// A group that makes its calls in `group`, for a context of a part of the ranks. abandon() does nothing,
/// because the context of all ranks uses the group too; it has no control channel for the same reason.
std::unique_ptr<RankGroup> make_shared_group(std::shared_ptr<RankGroup> group);

/// Allocates memory that is private to this process. Fails with codes::misuse if there is not enough memory.
Result<Buffer> allocate_private(std::size_t size_bytes);

}  // namespace det::collectives
