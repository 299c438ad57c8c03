#pragma once
#include <det/collectives/distributed_context.hpp>

#include <functional>

#include "row.hpp"

namespace det::measure {

/// An implementation of the collectives that is measured, on this rank. All implementations number the ranks
/// in the same way.
struct Implementation {
    std::string name;
    std::function<Status(collectives::TensorCall const& call)> run;  // collective
    bool (*supports)(collectives::DataType type);
};

/// The collectives of `ranks`, which must outlive the result.
Implementation make_det_implementation(collectives::DistributedContext& ranks);

/// The collectives of the MPI with which det-submit was built. Collective. Fails if det_mpi.so or MPI can't
/// be loaded, or if MPI numbers the ranks differently. Without an MPI launcher, MPI_Init may end the program,
/// so the caller must check the launcher before.
Result<Implementation> load_mpi_implementation(Rank rank, int size);

/// Measures each operation at each size, alternating between det and `peer` (nullptr: none). Leaves out the
/// peer if it does not support the element type. Collective. Fails if a rank fails.
/// \param on_row called on rank 0 with each row.
/// \return on all ranks the number of wrong elements in the results of det.
Result<std::uint64_t> measure_collectives(CollectivesArguments const& arguments,
                                          collectives::DistributedContext& ranks, Implementation const* peer,
                                          std::function<void(Row const& row)> const& on_row);

}  // namespace det::measure
