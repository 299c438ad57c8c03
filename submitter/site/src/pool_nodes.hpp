#pragma once
#include <det/site/site.hpp>

namespace det::site {

/// \return The nodes of a partition that belong to a pool, grouped by kind, the largest first. `entry` may be
/// null. Pure.
std::vector<NodeKind> find_kinds(slurm::Partition const& partition, config::PoolEntry const* entry,
                                 SlotType type);

/// \return The slot type of the site file; if it sets none, cuda if the nodes have GPUs.
SlotType slot_type_of(slurm::Partition const& partition, config::PoolEntry const* entry);

}  // namespace det::site
