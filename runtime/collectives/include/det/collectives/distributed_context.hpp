#pragma once
#include <det/collectives/buffer.hpp>
#include <det/collectives/control_channel.hpp>
#include <det/collectives/handle.hpp>
#include <det/collectives/tensor.hpp>
#include <det/collectives/topology.hpp>
#include <det/collectives/tuning.hpp>

#include <memory>
#include <string>
#include <vector>

namespace det::tensor {
class DeviceCopies;
}  // namespace det::tensor

namespace det::collectives {

class RankGroup;
struct TensorCall;

inline constexpr Rank chief{0};

/// The ranks of a run, and what they do together. Every rank makes the same calls in the same order; where
/// ranks differ in the operation, its type, its size or its arguments, each of them gets the same Error,
/// which names two that differ, and the next operation can be tried. Results are bitwise equal on all ranks,
/// and from run to run for the same sizes, ranks and Tuning.
///
/// Threads: one at a time. A moved-from context may only be destroyed or assigned to.
class DistributedContext {
public:
    /// One rank that needs no others and no transport.
    static DistributedContext single();
    static Result<DistributedContext> make(std::unique_ptr<transport::Transport> transport, Topology topology,
                                           Tuning tuning = {});
    /// Collective: where nobody has told the ranks who sits with whom, by the name of each one's node.
    static Result<DistributedContext> make_by_nodes(std::unique_ptr<transport::Transport> transport,
                                                    std::string node_name, Tuning tuning = {});
    /// `local`: the ranks of this node, in the order of their local ranks, where there are several nodes.
    /// Without it what is local goes through all ranks, and the nodes have to call it in step.
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

    // Byte strings of any size, which may differ between ranks.

    /// All values in rank order on the chief; nothing on the others.
    Result<std::vector<std::string>> gather(std::string value);
    Result<std::vector<std::string>> allgather(std::string value);
    /// What `from` has; what the others pass is not looked at.
    Result<std::string> broadcast(std::string value, Rank from = chief);
    /// Nobody returns before everybody has come.
    Status barrier();

    // The same among the ranks of this node, in the order of their local ranks; its chief is local rank 0.

    Result<std::vector<std::string>> gather_local(std::string value);
    Result<std::vector<std::string>> allgather_local(std::string value);
    Result<std::string> broadcast_local(std::string value);

    // Elements: the same type and count on all ranks. Input and output are the same memory (in place) or do
    // not overlap; `part` of n elements per rank is in rank order, and may lie where the caller's part of
    // `all` is.

    Status allreduce(Tensor tensor, ReduceOp op) {
        return allreduce_in_place(tensor.data, tensor.count, tensor.type, op);
    }
    Status allreduce(ConstTensor in, Tensor out, ReduceOp op);
    /// `out` is looked at on `to` alone.
    Status reduce(ConstTensor in, Tensor out, ReduceOp op, Rank to = chief);
    /// all: size() x part.count elements. Each rank gets its part of the reduced whole.
    Status reduce_scatter(ConstTensor all, Tensor part, ReduceOp op);
    Status allgather(ConstTensor part, Tensor all);
    /// Of both the r-th part is for, and from, rank r. Counts are multiples of size().
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

    // Started now, finished by the Handle; which says what goes on when. Several may be on their way; their
    // order is that of all other calls.

    Handle start_allreduce(Tensor tensor, ReduceOp op);
    Handle start_allreduce(ConstTensor in, Tensor out, ReduceOp op);
    Handle start_reduce(ConstTensor in, Tensor out, ReduceOp op, Rank to = chief);
    Handle start_reduce_scatter(ConstTensor all, Tensor part, ReduceOp op);
    Handle start_allgather(ConstTensor part, Tensor all);
    Handle start_all_to_all(ConstTensor in, Tensor out);
    Handle start_broadcast(Tensor tensor, Rank from = chief);

    /// How such a call would be done here, in a few words for people: "shared memory, slots; UCX, ring". Not
    /// known: nothing.
    std::string algorithm_name(TensorCall const& call) const;
    /// The cudaStream_t on which all that follows in device memory, checkpoints too, is put; null, as at the
    /// beginning: the default one. Ranks may use different ones. codes::misuse where the ranks have no
    /// devices.
    Status use_stream(void* stream);

    /// Memory on which collectives need no copies where that can be had: for gradients and other large data.
    /// Not collective: ranks may ask at different times for different sizes.
    Result<Buffer> allocate(std::size_t size_bytes);

    // For those who have something to do or to tell other ranks beside operations. Null where there is
    // nothing of the kind; they live as long as this context.

    ControlChannel control_channel();
    tensor::DeviceCopies* device_copies();

    /// Leaves without the others: for a rank that fails alone while its peers may wait for it. Call it before
    /// the context is destroyed, and end the process soon: that is what tells them.
    void abandon() noexcept;

private:
    DistributedContext(std::unique_ptr<RankGroup> ranks, Topology topology, std::shared_ptr<RankGroup> local);

    /// All in registers: what goes through memory piece by piece and is read as a whole costs as much as a
    /// tenth of a tiny operation.
    Status allreduce_in_place(void* data, std::size_t count, DataType type, ReduceOp op);
    /// No others, and nothing that is not this process's memory.
    bool is_single_rank() const;
    Status run(TensorCall const& call);
    [[gnu::noinline]] Status run_checked(TensorCall const& call);  // apart from the way of most calls
    Handle start(TensorCall const& call);
    bool is_single_on_node() const { return topology_.local_size == 1; }
    bool is_on_one_node() const { return topology_.cross_size == 1; }
    /// For what is not a part of an operation of all ranks.
    RankGroup& local_group();
    /// The values of this node's ranks, by way of all ranks.
    Result<std::vector<std::string>> allgather_on_node(std::string value);

    std::unique_ptr<RankGroup> ranks_;  // none: a single rank
    Topology topology_;
    std::shared_ptr<RankGroup> local_;  // none: one node, or what is local goes through all ranks
};

}  // namespace det::collectives
