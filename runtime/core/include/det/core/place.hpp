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

/// From mpirun's OMPI_COMM_WORLD_* or PMI_*, else horovodrun's HOROVOD_*, else RANK, WORLD_SIZE, LOCAL_RANK
/// and what srun's ranks, torchrun or deepspeed have beside them, else a single rank. With mpirun and
/// horovodrun the node comes from the run's info, since they do not number nodes, or not those that differ.
/// Pure.
Result<Place> find_place(Environment const& environment, std::optional<Info> const& info);

}  // namespace det::core
