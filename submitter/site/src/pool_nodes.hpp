#pragma once
#include <det/site/site.hpp>

namespace det::site {

/// The nodes of a partition that belong to a pool, by kind, the largest first. `entry` may be null. Pure.
std::vector<NodeKind> find_kinds(slurm::Partition const& partition, config::PoolEntry const* entry,
                                 SlotType type);

/// What the file says, else cuda where nodes have GPUs.
SlotType slot_type_of(slurm::Partition const& partition, config::PoolEntry const* entry);

}  // namespace det::site
