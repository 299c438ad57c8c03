#pragma once
#include <det/collectives/allocated_buffer.hpp>
#include <det/collectives/control_channel.hpp>
#include <det/collectives/handle.hpp>
#include <det/collectives/tensor.hpp>
#include <det/collectives/topology.hpp>
#include <det/collectives/tuning.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace det::liveness {
class WaitRecorder;
}  // namespace det::liveness
namespace det::tensor {
class DeviceCopies;
}  // namespace det::tensor

namespace det::collectives {

class RankGroup;
enum class Kind : std::uint8_t;
struct TensorCall;

inline constexpr Rank chief{0};

/// The ranks of a run and their collective operations. All ranks must make the same collective calls in the
/// same order.
///
/// If ranks differ in the operation, its type, its size or its arguments, all of them get the same Error
/// (codes::misuse), which names two ranks that differ; after that the context can still be used. If a rank is
/// lost, all others get codes::transport in the operation in which they wait for it, except over MPI, which
/// does not detect a loss. Waits have no time limit, unless a WaitPolicy sets one: after it the Error is
/// codes::timed_out. After these two Errors the context can't be used. In host memory, results are bitwise
/// equal on all ranks, and equal between runs with the same sizes, ranks per node and Tuning. Operations
/// block until the result is available, unless they are started with start_...().
///
/// Not thread-safe: one thread at a time. A moved-from context may only be destroyed or assigned to.
class DistributedContext {
public:
    /// A context with this process as its only rank, without a transport.
    static DistributedContext single();
    /// A context that sends all data by messages. Does not communicate.
    /// \return codes::misuse for a topology that contradicts itself, or a Tuning::segment_bytes of 0
    static Result<DistributedContext> make(std::unique_ptr<transport::Transport> transport, Topology topology,
                                           Tuning tuning = {});
    /// A context on existing groups. Does not communicate. Fails with codes::misuse for a topology that
    /// contradicts itself.
    ///
    /// \param ranks all ranks.
    /// \param local with several nodes, the group of this node's ranks in the order of their local ranks.
    ///     Without it the ..._local() operations use all ranks, so all nodes must call them in step.
    static Result<DistributedContext> make(std::unique_ptr<RankGroup> ranks, Topology topology,
                                           std::shared_ptr<RankGroup> local = nullptr);
    DistributedContext(DistributedContext&&) noexcept;
    DistributedContext& operator=(DistributedContext&&) noexcept;
    ~DistributedContext();

    Rank rank() const;
    int size() const;
    int local_rank() const { return topology_.local_rank; }
    int local_size() const { return topology_.local_size; }
    int cross_rank() const { return topology_.cross_rank; }
    int cross_size() const { return topology_.cross_size; }
    bool is_chief() const { return rank() == chief; }
    bool is_local_chief() const { return local_rank() == 0; }

    // Collectives on byte strings. Sizes may differ between ranks. A rank that has no valid value passes an
    // Error as `refused`; the call then fails with this Error on all ranks.

    /// \return on the chief the values of all ranks in rank order; on other ranks an empty vector.
    Result<std::vector<std::string>> gather(std::string value, Status const& refused = Ok{});
    /// \return the values of all ranks in rank order.
    Result<std::vector<std::string>> allgather(std::string value, Status const& refused = Ok{});
    /// \return the value of rank `from`. The values of other ranks are ignored.
    Result<std::string> broadcast(std::string value, Rank from = chief, Status const& refused = Ok{});
    /// Blocks until all ranks have called it.
    Status barrier();

    // gather(), allgather() and broadcast() among the ranks of this node, in the order of their local ranks.
    // Local rank 0 acts as the chief. Without a group of this node's ranks (see make()), the order is that of
    // the ranks, and local rank 0 must be the lowest rank of its node.

    Result<std::vector<std::string>> gather_local(std::string value, Status const& refused = Ok{});
    Result<std::vector<std::string>> allgather_local(std::string value, Status const& refused = Ok{});
    Result<std::string> broadcast_local(std::string value, Status const& refused = Ok{});

    // Collectives on arrays of elements. Type and count must be the same on all ranks. Input and output are
    // the same memory (in place) or do not overlap. `all` contains the parts of all ranks in rank order;
    // `part` may be the caller's part of `all`. The caller owns the memory.

    Status allreduce(Tensor tensor, ReduceOp op) {
        return allreduce_in_place(tensor.data, tensor.count, tensor.type, op);
    }
    Status allreduce(ConstTensor in, Tensor out, ReduceOp op);
    /// Only rank `to` gets the result; `out` is ignored on other ranks.
    Status reduce(ConstTensor in, Tensor out, ReduceOp op, Rank to = chief);
    /// Reduces `all` (size() x part.count elements). Each rank gets its part of the result.
    Status reduce_scatter(ConstTensor all, Tensor part, ReduceOp op);
    Status allgather(ConstTensor part, Tensor all);
    /// Part r of `in` is sent to rank r; part r of `out` is received from rank r. Counts must be multiples of
    /// size().
    Status all_to_all(ConstTensor in, Tensor out);
    Status broadcast(Tensor tensor, Rank from = chief);
    Status broadcast(std::span<std::byte> bytes, Rank from = chief);

    template <Element T>
    Status allreduce(std::span<T> values, ReduceOp op) {
        return allreduce(Tensor::of(values), op);
    }
    template <Element T>
    Result<T> allreduce(T value, ReduceOp op) {
        DET_TRY(allreduce(std::span<T>(&value, 1), op));
        return value;
    }
    template <Element T>
    Status broadcast(std::span<T> values, Rank from = chief) {
        return broadcast(Tensor::of(values), from);
    }

    // Operations that may continue after the call. They do so on device memory, and on host memory if all
    // ranks communicate through shared memory. Otherwise start_...() blocks until the operation is complete.
    // The returned Handle completes the operation; see Handle for progress. Several operations may be in
    // flight. The rule that all ranks call in the same order includes these calls.

    Handle start_allreduce(Tensor tensor, ReduceOp op);
    Handle start_allreduce(ConstTensor in, Tensor out, ReduceOp op);
    Handle start_reduce(ConstTensor in, Tensor out, ReduceOp op, Rank to = chief);
    Handle start_reduce_scatter(ConstTensor all, Tensor part, ReduceOp op);
    Handle start_allgather(ConstTensor part, Tensor all);
    Handle start_all_to_all(ConstTensor in, Tensor out);
    Handle start_broadcast(Tensor tensor, Rank from = chief);

    /// The algorithm for such a call, for messages: "shared memory, pipeline; UCX, ring". Empty if
    /// unknown.
    std::string algorithm_name(TensorCall const& call) const;
    /// Sets the cudaStream_t for all later operations on device memory, including checkpoints. nullptr is the
    /// default stream, which is also the initial value. Ranks may use different streams. Not collective.
    /// Fails with codes::misuse if the context has no devices.
    Status use_stream(void* stream);

    /// Allocates memory on which collectives need no intermediate copy if the ranks of a node share memory.
    /// Useful for gradients and other large data. Not collective: ranks may allocate different sizes at
    /// different times.
    ///
    /// \param size_bytes size of the memory, which is zeroed and aligned to 4096 bytes; 0 gives an empty
    ///     Buffer.
    /// \return the memory, which must be destroyed before the context; codes::misuse if there is not enough
    ///     memory.
    Result<Buffer> allocate(std::size_t size_bytes);

    /// The ranks of this node as a context of their own, in the order of their local ranks; if there is one
    /// node, in the order of their ranks. The context shares the connections of this one: all ranks make the
    /// calls of both in the same order. abandon() of it does nothing. Does not communicate. Fails with
    /// codes::misuse if there are several nodes and make() got no group of this node's ranks.
    Result<DistributedContext> local_ranks();
    /// The ranks with this rank's local rank, one of each node that has one, in the order of the nodes. Like
    /// local_ranks() otherwise.
    Result<DistributedContext> cross_ranks();
    /// Replaces the group of all ranks by the one that `make` returns. Not collective; no operation may be in
    /// progress.
    void wrap_ranks(std::function<std::unique_ptr<RankGroup>(std::shared_ptr<RankGroup>)> const& make);

    /// Takes part in the operation that the other ranks make next, and makes it fail on all ranks with
    /// codes::misuse and this message, behind the number of this rank. For a rank that has no valid
    /// arguments.
    Status refuse(std::string message);

    // For other modules that need the connection between the ranks. A pointer is null if the context lacks
    // the facility. All pointers are valid as long as the context lives.

    /// From now on `recorder` counts the operations. The groups record their waits if their WaitPolicy has
    /// the same recorder.
    void record_operations(std::shared_ptr<liveness::WaitRecorder> recorder);
    ControlChannel control_channel();
    tensor::DeviceCopies* device_copies();

    /// Makes the destructor disconnect without waiting for other ranks. For a rank that fails alone: call it
    /// before the context is destroyed, and end the process soon after it, because other ranks may detect
    /// only the end of the process. The context must not be used for operations afterwards.
    void abandon() noexcept;

private:
    DistributedContext(std::unique_ptr<RankGroup> ranks, Topology topology, std::shared_ptr<RankGroup> local);
    DistributedContext make_subset(std::unique_ptr<RankGroup> part, Topology topology);

    /// The arguments are scalars, which are passed in registers: structures in memory would add a tenth to
    /// the time of a tiny operation.
    Status allreduce_in_place(void* data, std::size_t count, DataType type, ReduceOp op);
    Status run(TensorCall const& call);
    [[gnu::noinline]] Status run_checked(TensorCall const& call);  // not inlined into the fast path
    Handle start(TensorCall const& call);
    void begin(Kind kind);
    bool is_on_one_node() const { return topology_.cross_size == 1; }
    /// Begins an operation among the ranks of this node, and returns their group.
    RankGroup& local_group(Kind kind);
    /// Returns the values of this node's ranks in rank order, by an allgather among the ranks of all nodes.
    Result<std::vector<std::string>> allgather_on_node(std::string value, Status const& refused);

    std::shared_ptr<liveness::WaitRecorder> recorder_;  // null: nothing is recorded
    std::shared_ptr<RankGroup> ranks_;
    Topology topology_;
    std::shared_ptr<RankGroup> local_;  // null: one node, or local operations use all ranks
};

}  // namespace det::collectives
