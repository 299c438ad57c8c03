#pragma once
#include <det/collectives/topology.hpp>
#include <det/core/info.hpp>
#include <det/foundation/environment.hpp>

namespace det::core {

/// Who this process is among the ranks.
struct Place {
    int rank = 0;
    int size = 1;
    collectives::Topology topology;
    friend bool operator==(Place const&, Place const&) = default;
};

/// From RANK, WORLD_SIZE, LOCAL_RANK ... (srun's ranks, torchrun), else from mpirun's OMPI_COMM_WORLD_*, else
/// a single rank. With mpirun the node comes from the run's info, since mpirun does not number nodes. Pure.
Result<Place> find_place(Environment const& environment, std::optional<Info> const& info);

}  // namespace det::core
