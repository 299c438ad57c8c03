#pragma once
#include <det/checkpoint/tensor.hpp>

#include "host_memory.hpp"
#include "write_plan.hpp"

namespace det::checkpoint {

/// Makes the image of a shard in `memory`, which is large enough: header and data as the file will have them.
void take_snapshot(ShardPlan const& shard, State const& state, int threads, HostMemory const& memory);

}  // namespace det::checkpoint
