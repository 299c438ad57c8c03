#pragma once
#include <det/collectives/buffer.hpp>
#include <det/collectives/call.hpp>
#include <det/collectives/control_channel.hpp>
#include <det/collectives/handle.hpp>
#include <det/collectives/tuning.hpp>
#include <det/tensor/device_copies.hpp>
#include <det/transport/transport.hpp>

#include <optional>
#include <vector>

namespace det::collectives {

/// An operation on elements. `in` and `out` are the same memory, or do not overlap; a broadcast has but
/// `out`. Where a rank gets only a part of what all put in (or puts in a part of what all get), `in` may be
/// that part of `out`.
struct TensorCall {
    Kind kind = Kind::allreduce;
    ConstTensor in;
    Tensor out;
    ReduceOp op = ReduceOp::sum;
    Rank root = {};
};

/// What the call is for the agreement and for messages; without a sequence number.
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

/// How ranks are told apart, and operations, in what they compare and in messages. A group whose operations
/// are parts of those of a larger one speaks for that one.
struct ErrorScope {
    std::vector<Rank>
        global_ranks;  // how the larger one numbers these ranks; none: as they number themselves
    std::optional<Call> enclosing_call;  // what the larger one was asked for; none: their own operations

    Rank global_rank(Rank rank) const {
        return global_ranks.empty() ? rank : global_ranks[static_cast<std::size_t>(rank.value)];
    }
    Call reported_call(Call const& call) const { return enclosing_call.value_or(call); }
    /// Who passes on the reason of others has it with their global ranks.
    bool is_outermost() const { return !enclosing_call; }
};

/// What connects the ranks that do operations together: messages, or the memory of a node. It may rely on
/// what DistributedContext has checked. `refused` is why this rank cannot take part as it was asked to: the
/// others hear of it, and all get the same Error.
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
    /// From here on; nothing: for itself.
    void set_scope(std::optional<Call> const& call) { error_scope_.enclosing_call = call; }

    virtual Status barrier() = 0;
    virtual Result<std::vector<std::string>> gather(std::string value) = 0;
    virtual Result<std::vector<std::string>> allgather(std::string value) = 0;
    virtual Result<std::string> broadcast(std::string value, Rank from, Status const& refused) = 0;

    virtual Status run(TensorCall const& call, Status const& refused) = 0;
    /// Where nothing can go on beside the caller, an operation is over when it was started.
    virtual Handle start(TensorCall const& call, Status const& refused) { return Handle(run(call, refused)); }

    /// How such an operation would be done, in a few words for people: "MPI, ring". Not known: nothing.
    virtual std::string algorithm_name(TensorCall const&) const { return {}; }

    virtual Result<Buffer> allocate(std::size_t size_bytes);
    virtual void abandon() noexcept = 0;

    virtual ControlChannel control_channel() { return {}; }
    /// An Error where it is known, without asking anybody, that a rank was lost.
    virtual Status check_ranks() { return Ok{}; }

    /// Whether buffers may be memory of devices.
    virtual bool has_devices() const { return false; }
    /// For all that follows on devices.
    virtual Status use_stream(void* stream);
    /// Null where there are no devices.
    virtual tensor::DeviceCopies* device_copies() { return nullptr; }

protected:
    RankGroup(Rank rank, int size) : rank_(rank), size_(size) {}

    ErrorScope const& error_scope() const { return error_scope_; }

private:
    Rank rank_;
    int size_;
    ErrorScope error_scope_;
};

/// Ranks that are connected by messages.
Result<std::unique_ptr<RankGroup>> make_ranks(std::unique_ptr<transport::Transport> transport,
                                              Tuning const& tuning = {});

/// One rank, with nothing to say to anybody: on its node, say.
std::unique_ptr<RankGroup> make_single_rank();

/// Memory of this process alone.
Result<Buffer> allocate_private(std::size_t size_bytes);

}  // namespace det::collectives
