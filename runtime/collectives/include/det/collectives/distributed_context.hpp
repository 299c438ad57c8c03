#pragma once
#include <det/collectives/tensor.hpp>
#include <det/collectives/topology.hpp>
#include <det/collectives/tuning.hpp>

#include <memory>
#include <string>
#include <vector>

namespace det::collectives {

class Communicator;

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

    // Byte strings of any size, which may differ between ranks.

    /// All values in rank order on the chief; nothing on the others.
    Result<std::vector<std::string>> gather(std::string value);
    Result<std::vector<std::string>> allgather(std::string value);
    /// What `from` has; what the others pass is not looked at.
    Result<std::string> broadcast(std::string value, Rank from = chief);
    /// Nobody returns before everybody has come.
    Status barrier();

    // Elements in place: the same type and count on all ranks.

    Status allreduce(Tensor tensor, ReduceOp op);
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

    /// Leaves without the others: for a rank that fails alone while its peers may wait for it. Call it before
    /// the context is destroyed, and end the process soon: that is what tells them.
    void abandon() noexcept;

private:
    DistributedContext(std::unique_ptr<Communicator> communicator, Topology topology);

    std::unique_ptr<Communicator> communicator_;  // none: a single rank
    Topology topology_;
};

}  // namespace det::collectives
