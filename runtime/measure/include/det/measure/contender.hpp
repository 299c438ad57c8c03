#pragma once
#include <det/collectives/distributed_context.hpp>
#include <det/collectives/rank_group.hpp>

#include <string>

namespace det::measure {

/// One of those that are measured, as one rank of it. Ranks are numbered alike by all of them.
class Contender {
public:
    virtual ~Contender() = default;
    virtual std::string name() const = 0;
    /// Whether it has this operation for this type.
    virtual bool knows(collectives::TensorCall const& call) const = 0;
    virtual Status run(collectives::TensorCall const& call) = 0;
};

/// Ours. `ranks` outlives it.
std::unique_ptr<Contender> contend_with(collectives::DistributedContext& ranks);

/// The MPI that was there at build time. Collective. An Error where there was none, or where it numbers the
/// ranks otherwise; where no MPI launcher has started them MPI may end the program, so this must be known
/// before.
Result<std::unique_ptr<Contender>> contend_with_mpi(Rank rank, int size);

}  // namespace det::measure
