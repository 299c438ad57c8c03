#pragma once
#include <det/foundation/result.hpp>
#include <det/protocol/ids.hpp>

#include <cstddef>
#include <memory>

namespace det::transport::mpi {

enum class ElementType { uint8, int32, int64, float32, float64 };

/// MPI's own collectives over all ranks, with which det-bench compares det-submit's. Every operation is
/// collective and blocking; reductions are sums. Counts are in elements. If input and output are the same
/// address, the operation is in place, which allgather does not support. One thread at a time. All errors of
/// the operations have codes::transport.
class Collectives {
public:
    virtual ~Collectives() = default;
    Collectives(Collectives const&) = delete;
    Collectives& operator=(Collectives const&) = delete;

    virtual Rank rank() const = 0;
    virtual int size() const = 0;

    /// Reduces to all ranks.
    /// \param count elements of `in` and of `out`
    virtual Status allreduce(void const* in, void* out, std::size_t count, ElementType type) = 0;
    /// Reduces to rank `to`.
    /// \param out used only on rank `to`, which may pass the address of `in`
    virtual Status reduce(void const* in, void* out, std::size_t count, ElementType type, Rank to) = 0;
    /// \param data read on rank `from`, written on all other ranks
    virtual Status broadcast(void* data, std::size_t count, ElementType type, Rank from) = 0;
    /// \param part_count elements of `part`; `all` has size() times as many
    virtual Status reduce_scatter(void const* all, void* part, std::size_t part_count, ElementType type) = 0;
    /// \param part_count elements of `part`; `all` has size() times as many
    virtual Status allgather(void const* part, void* all, std::size_t part_count, ElementType type) = 0;
    /// \param count elements of `in` and of `out`: size() equal parts
    virtual Status all_to_all(void const* in, void* out, std::size_t count, ElementType type) = 0;

protected:
    Collectives() = default;
};

/// Opens det_mpi.so and initialises MPI as open_transport does, with the same errors. Collective over all
/// ranks; blocks until all have called it.
Result<std::unique_ptr<Collectives>> open_collectives();

}  // namespace det::transport::mpi
