#pragma once
#include <det/collectives/distributed_context.hpp>
#include <det/collectives/rank_group.hpp>

#include <string>

namespace det::measure {

/// One rank of a measured implementation. All implementations number the ranks in the same way.
class Contender {
public:
    virtual ~Contender() = default;
    virtual std::string name() const = 0;
    /// Whether it supports this operation with this type.
    virtual bool knows(collectives::TensorCall const& call) const = 0;
    virtual Status run(collectives::TensorCall const& call) = 0;
};

/// Our collectives. `ranks` must outlive the result.
std::unique_ptr<Contender> contend_with(collectives::DistributedContext& ranks);

/// The collectives of the MPI with which det-submit was built. Collective. Fails if det_mpi.so or MPI can't
/// be loaded, or if MPI numbers the ranks differently. Without an MPI launcher, MPI_Init may end the program,
/// so the caller must check the launcher before.
Result<std::unique_ptr<Contender>> contend_with_mpi(Rank rank, int size);

}  // namespace det::measure
